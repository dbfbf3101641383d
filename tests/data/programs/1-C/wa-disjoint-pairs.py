from collections import Counter

n = int(input())
print(sum(k // 2 for k in Counter(map(int, input().split())).values()))
