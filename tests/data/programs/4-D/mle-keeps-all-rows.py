M = 10**9 + 7
a, b, c, x, y, n = map(int, input().split())
rows = [0] * (n + 2)
rows[1] = x
rows[2] = y
for i in range(3, n + 1):
    rows[i] = (a * rows[i - 1] + b * rows[i - 2] + c) % M
print(rows[n] % M)
