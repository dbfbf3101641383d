from bisect import bisect_left, insort

n, k = map(int, input().split())
a = list(map(int, input().split()))
w = sorted(a[:k])
res = [w[k // 2]]
for i in range(k, n):
    del w[bisect_left(w, a[i - k])]
    insort(w, a[i])
    res.append(w[k // 2])
print(*res)
