#include <iostream>
#include <vector>
using namespace std;

int main() {
    int n;
    cin >> n;
    vector<long long> h(n), tree(n + 1);
    for (auto& x : h) cin >> x;
    ordered_set<long long> seen;
    long long total = 0;
    for (auto x : h) {
        total += seen.size() - seen.order_of_key(x + 1);
        seen.insert(x);
    }
    cout << total << endl;
}
