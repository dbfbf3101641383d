#include <algorithm>
#include <iostream>
#include <iomanip>

int main() {
    int n;
    std::cin >> n;
    double sum = 0, low = 1e9, high = -1e9;
    for (int i = 0; i < n; ++i) {
        double x;
        std::cin >> x;
        sum += x;
        low = std::min(low, x);
        high = std::max(high, x);
    }
    std::cout << std::fixed << std::setprecision(9) << (sum - low - high) / (n - 2) << "\n";
}
