h, w = map(int, input().split())
g = [input() for _ in range(h)]
best = {}

def go(i, j, d):
    if not (0 <= i < h and 0 <= j < w) or g[i][j] == "#":
        return
    if best.get((i, j), 10**9) <= d:
        return
    best[i, j] = d
    go(i + 1, j, d + 1)
    go(i, j + 1, d + 1)
    go(i - 1, j, d + 1)
    go(i, j - 1, d + 1)

goal = None
for i in range(h):
    for j in range(w):
        if g[i][j] == "S":
            go(i, j, 0)
for i in range(h):
    for j in range(w):
        if g[i][j] == "H":
            print(best.get((i, j), -1))
