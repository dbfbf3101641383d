#include <functional>
#include <iostream>
#include <queue>
#include <utility>
#include <vector>
using namespace std;

int main() {
    ios::sync_with_stdio(false);
    int n, m;
    cin >> n >> m;
    vector<vector<pair<int, long long>>> canals(n + 1);
    while (m--) {
        int a, b;
        long long toll;
        cin >> a >> b >> toll;
        canals[a].push_back({b, toll});
    }
    const long long far = 4e18;
    vector<long long> cost(n + 1, far);
    cost[1] = 0;
    priority_queue<pair<long long, int>, vector<pair<long long, int>>, greater<>> heap;
    heap.push({0, 1});
    while (!heap.empty()) {
        auto [c, v] = heap.top();
        heap.pop();
        if (c > cost[v]) continue;
        for (auto [u, toll] : canals[v]) {
            if (c + toll < cost[u]) {
                cost[u] = c + toll;
                heap.push({cost[u], u});
            }
        }
    }
    cout << (cost[n] == far ? -1 : cost[n]) << endl;
}
