#include <iostream>

int main() {
    unsigned long long chests = 0, worth = 0, owed = 0;
    std::cin >> chests >> worth >> owed;
    std::cout << static_cast<long long>(chests * worth - owed) << std::endl;
}
