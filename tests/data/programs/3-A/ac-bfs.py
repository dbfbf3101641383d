import sys
from collections import deque

def main():
    rows = sys.stdin.read().split()
    h, w = int(rows[0]), int(rows[1])
    grid = rows[2:]
    start = next((r, c) for r in range(h) for c in range(w) if grid[r][c] == "S")
    moves = {start: 0}
    queue = deque([start])
    while queue:
        r, c = queue.popleft()
        if grid[r][c] == "H":
            print(moves[r, c])
            return
        for there in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
            y, x = there
            if 0 <= y < h and 0 <= x < w and grid[y][x] != "#" and there not in moves:
                moves[there] = moves[r, c] + 1
                queue.append(there)
    print(-1)

main()
