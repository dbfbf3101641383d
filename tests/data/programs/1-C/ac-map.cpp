#include <cstdio>
#include <map>

int main() {
    int n;
    std::scanf("%d", &n);
    std::map<int, long long> seen;
    long long ways = 0;
    for (int i = 0; i < n; ++i) {
        int size;
        std::scanf("%d", &size);
        ways += seen[size]++;
    }
    std::printf("%lld\n", ways);
    return 0;
}
