#include <fstream>
#include <vector>

int main() {
    std::ifstream in("tide.in");
    std::ofstream out("tide.out");
    int n, q;
    in >> n >> q;
    std::vector<long long> sum(n + 1, 0);
    for (int i = 1; i <= n; ++i) {
        long long x;
        in >> x;
        sum[i] = sum[i - 1] + x;
    }
    while (q--) {
        int a, b;
        in >> a >> b;
        out << sum[b] - sum[a - 1] << '\n';
    }
}
