n, k = map(int, input().split())
a = list(map(int, input().split()))
best = 0
start = 0
lo = hi = a[0]
for i in range(n):
    lo = min(lo, a[i])
    hi = max(hi, a[i])
    if hi - lo > k:
        start = i
        lo = hi = a[i]
    best = max(best, i - start + 1)
print(best)
