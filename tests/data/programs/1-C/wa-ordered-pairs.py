from collections import Counter

n = int(input())
c = Counter(map(int, input().split()))
print(sum(k * (k - 1) for k in c.values()))
