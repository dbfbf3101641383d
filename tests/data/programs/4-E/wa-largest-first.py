n, l, u = map(int, input().split())
w = list(map(int, input().split()))
total = 0
res = []
for i in sorted(range(n), key=lambda i: -w[i]):
    if total + w[i] <= u:
        total += w[i]
        res.append(i + 1)
if total >= l:
    print(len(res))
    print(*res)
else:
    print("NONE")
