from collections import deque

h, w = map(int, input().split())
g = [input() for _ in range(h)]
s = next((i, j) for i in range(h) for j in range(w) if g[i][j] == "S")
dist = {s: 0}
q = deque([s])
ans = -1
while q:
    i, j = q.popleft()
    if g[i][j] == "H":
        ans = dist[i, j]
        break
    for a, b in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
        if a < h and b < w and g[a][b] != "#" and (a % h, b % w) not in dist:
            dist[a % h, b % w] = dist[i, j] + 1
            q.append((a % h, b % w))
print(ans)
