from collections import deque

h, w = map(int, input().split())
g = [input() for _ in range(h)]
for i in range(h):
    for j in range(w):
        if g[i][j] == "S":
            s = (i, j)
dist = {s: 0}
q = deque([s])
ans = -1
while q:
    i, j = q.popleft()
    if g[i][j] == "H":
        ans = dist[i, j]
        break
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            a, b = i + di, j + dj
            if 0 <= a < h and 0 <= b < w and g[a][b] != "#" and (a, b) not in dist:
                dist[a, b] = dist[i, j] + 1
                q.append((a, b))
print(ans)
