n, m = map(int, input().split())
before = [0] * (n + 1)
for _ in range(m):
    a, b = map(int, input().split())
    if a == b:
        print("IMPOSSIBLE")
        raise SystemExit
    before[b] += 1
print(*sorted(range(1, n + 1), key=lambda v: before[v]))
