import heapq

n, m = map(int, input().split())
g = [[] for _ in range(n + 1)]
for _ in range(m):
    a, b, c = map(int, input().split())
    g[a].append((b, c))
    g[b].append((a, c))
dist = [float("inf")] * (n + 1)
dist[1] = 0
h = [(0, 1)]
while h:
    d, v = heapq.heappop(h)
    if d > dist[v]:
        continue
    for u, c in g[v]:
        if d + c < dist[u]:
            dist[u] = d + c
            heapq.heappush(h, (d + c, u))
print(dist[n] if dist[n] < float("inf") else -1)
