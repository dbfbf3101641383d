n, m = map(int, input().split())
e = []
for _ in range(m):
    a, b, c = map(int, input().split())
    e.append((c, a, b))
e.sort()
p = list(range(n + 1))

def f(x):
    while p[x] != x:
        p[x] = p[p[x]]
        x = p[x]
    return x

ans = 0
for c, a, b in e:
    a, b = f(a), f(b)
    if a != b:
        p[a] = b
        ans += c
print(ans)
