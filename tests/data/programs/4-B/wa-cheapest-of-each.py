n, m = map(int, input().split())
best = [None] * (n + 1)
edges = []
for i in range(m):
    a, b, c = map(int, input().split())
    edges.append(c)
    for v in (a, b):
        if best[v] is None or edges[best[v]] > c:
            best[v] = i
if n > 1 and None in best[1:]:
    print(-1)
else:
    print(sum(edges[i] for i in set(best[1:]) if i is not None))
