#include <cstdio>
#include <vector>

int main() {
    freopen("tide.in", "r", stdin);
    freopen("tide.out", "w", stdout);
    int n, q;
    if (scanf("%d %d", &n, &q) != 2) return 1;
    std::vector<unsigned> sum(n + 1, 0);
    for (int i = 1; i <= n; ++i) {
        int x;
        if (scanf("%d", &x) != 1) return 1;
        sum[i] = sum[i - 1] + static_cast<unsigned>(x);
    }
    while (q--) {
        int a, b;
        if (scanf("%d %d", &a, &b) != 2) return 1;
        printf("%d\n", static_cast<int>(sum[b] - sum[a - 1]));
    }
}
