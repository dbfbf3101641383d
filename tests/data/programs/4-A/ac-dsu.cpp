#include <iostream>
#include <numeric>
#include <vector>

std::vector<int> root;

int find(int x) {
    while (root[x] != x) x = root[x] = root[root[x]];
    return x;
}

int main() {
    std::ios::sync_with_stdio(false);
    int n, m;
    std::cin >> n >> m;
    root.resize(n + 1);
    std::iota(root.begin(), root.end(), 0);
    int groups = n;
    while (m--) {
        int a, b;
        std::cin >> a >> b;
        a = find(a);
        b = find(b);
        if (a != b) {
            root[a] = b;
            --groups;
        }
        std::cout << groups << '\n';
    }
}
