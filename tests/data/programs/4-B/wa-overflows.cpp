#include <algorithm>
#include <array>
#include <iostream>
#include <numeric>
#include <vector>
using namespace std;

int main() {
    int n, m;
    cin >> n >> m;
    vector<array<int, 3>> cables(m);
    for (auto& c : cables) cin >> c[1] >> c[2] >> c[0];
    sort(cables.begin(), cables.end());
    vector<int> root(n + 1);
    iota(root.begin(), root.end(), 0);
    auto find = [&](int x) {
        while (root[x] != x) x = root[x] = root[root[x]];
        return x;
    };
    unsigned total = 0;
    int missing = n - 1;
    for (auto& c : cables) {
        int a = find(c[1]), b = find(c[2]);
        if (a == b) continue;
        root[a] = b;
        total += c[0];
        --missing;
    }
    cout << (missing ? -1 : static_cast<int>(total)) << endl;
}
