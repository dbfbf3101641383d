from collections import deque

n, m = map(int, input().split())
g = {}
for _ in range(m):
    a, b, c = map(int, input().split())
    g.setdefault(a, []).append((b, c))
cost = {1: 0}
q = deque([1])
while q:
    v = q.popleft()
    for u, c in g.get(v, []):
        if cost[v] + c < cost.get(u, 10**18):
            cost[u] = cost[v] + c
            q.append(u)
print(cost[n])
