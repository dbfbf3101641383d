n, l, u = map(int, input().split())
w = list(map(int, input().split()))
reach = [1]
for x in w:
    reach.append(reach[-1] | reach[-1] << x)
target = -1
for t in range(u, l - 1, -1):
    if reach[-1] >> t & 1:
        target = t
        break
if target < 0:
    print("NONE")
else:
    res = []
    for i in range(n, 0, -1):
        if not reach[i - 1] >> target & 1:
            res.append(i)
            target -= w[i - 1]
    print(len(res))
    print(*res[::-1])
