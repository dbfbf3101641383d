from collections import deque

n, m = map(int, input().split())
g = [[] for _ in range(n + 1)]
for _ in range(m):
    a, b, c = map(int, input().split())
    g[a].append((b, c))
cost = {1: 0}
q = deque([1])
while q:
    v = q.popleft()
    for u, c in g[v]:
        if u not in cost:
            cost[u] = cost[v] + c
            q.append(u)
print(cost.get(n, -1))
