n, k = map(int, input().split())
a = list(map(int, input().split()))
best = 0
for i in range(n):
    lo = hi = a[i]
    for j in range(i, n):
        if a[j] < lo:
            lo = a[j]
        if a[j] > hi:
            hi = a[j]
        if hi - lo > k:
            break
        if j - i + 1 > best:
            best = j - i + 1
print(best)
