M = 10**9 + 7
a, b, c, x, y, n = map(int, input().split())
if n == 1:
    print(x % M)
else:
    for _ in range(n - 2):
        x, y = y, (a * y + b * x + c) % M
    print(y % M)
