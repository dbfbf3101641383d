from collections import Counter

n = int(input())
sizes = input().split()
print(sum(k * (k - 1) // 2 for k in Counter(sizes).values()))
