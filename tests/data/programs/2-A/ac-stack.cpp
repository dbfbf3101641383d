#include <iostream>
#include <string>
#include <vector>
using namespace std;

int main() {
    string s;
    cin >> s;
    const string open = "([{<", close = ")]}>";
    vector<char> stack;
    for (size_t i = 0; i < s.size(); ++i) {
        size_t kind = open.find(s[i]);
        if (kind != string::npos) {
            stack.push_back(close[kind]);
        } else if (stack.empty() || stack.back() != s[i]) {
            cout << i + 1 << endl;
            return 0;
        } else {
            stack.pop_back();
        }
    }
    if (stack.empty()) cout << "ok" << endl;
    else cout << s.size() + 1 << endl;
}
