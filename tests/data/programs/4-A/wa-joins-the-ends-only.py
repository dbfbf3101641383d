n, m = map(int, input().split())
p = list(range(n + 1))
g = n
for _ in range(m):
    a, b = map(int, input().split())
    if p[a] != p[b]:
        p[a] = p[b]
        g -= 1
    print(g)
