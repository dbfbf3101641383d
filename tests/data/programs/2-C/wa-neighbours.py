n, k = map(int, input().split())
a = list(map(int, input().split()))
best = cur = 1
for i in range(1, n):
    if abs(a[i] - a[i - 1]) <= k:
        cur += 1
    else:
        cur = 1
    best = max(best, cur)
print(best)
