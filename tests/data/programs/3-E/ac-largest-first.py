import heapq

n, m = map(int, input().split())
out = [[] for _ in range(n + 1)]
deg = [0] * (n + 1)
for _ in range(m):
    a, b = map(int, input().split())
    out[a].append(b)
    deg[b] += 1
heap = [-v for v in range(1, n + 1) if deg[v] == 0]
heapq.heapify(heap)
res = []
while heap:
    v = -heapq.heappop(heap)
    res.append(v)
    for u in out[v]:
        deg[u] -= 1
        if deg[u] == 0:
            heapq.heappush(heap, -u)
if len(res) < n:
    print("IMPOSSIBLE")
else:
    for v in res:
        print(v)
