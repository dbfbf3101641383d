src = open("tide.in").read().split()
n, q = int(src[0]), int(src[1])
a = list(map(int, src[2:2 + n]))
p = [0]
for x in a:
    p.append(p[-1] + x)
rest = list(map(int, src[2 + n:]))
with open("tide.out", "w") as out:
    for i in range(q):
        l, r = rest[2 * i], rest[2 * i + 1]
        print(p[r] - p[l], file=out)
