from collections import deque

n, m = map(int, input().split())
out = [[] for _ in range(n + 1)]
deg = [0] * (n + 1)
for _ in range(m):
    a, b = map(int, input().split())
    out[a].append(b)
    deg[b] += 1
q = deque(v for v in range(1, n + 1) if deg[v] == 0)
res = []
while q:
    v = q.popleft()
    res.append(v)
    for u in out[v]:
        deg[u] -= 1
        if deg[u] == 0:
            q.append(u)
print(*res)
