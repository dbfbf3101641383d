from bisect import bisect_left, insort

n, k = map(int, input().split())
a = list(map(int, input().split()))
w = sorted(a[:k])
res = []
for i in range(k, n):
    res.append(w[(k - 1) // 2])
    del w[bisect_left(w, a[i - k])]
    insort(w, a[i])
print(*res)
