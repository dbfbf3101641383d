n, m = map(int, input().split())
groups = n
for _ in range(m):
    a, b = map(int, input().split())
    if a != b:
        groups = max(1, groups - 1)
    print(groups)
