n, l, u = map(int, input().split())
w = list(map(int, input().split()))
prev = {0: None}
for t in range(1, u + 1):
    for i, x in enumerate(w):
        if t - x in prev:
            prev[t] = i
            break
for t in range(l, u + 1):
    if t in prev:
        res = []
        while t:
            res.append(prev[t] + 1)
            t -= w[prev[t]]
        print(len(res))
        print(*res)
        break
else:
    print("NONE")
