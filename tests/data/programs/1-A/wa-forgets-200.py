p, q = map(int, input().split())
rest = q - p
n = 0
for c in [100, 50, 20, 10, 5, 2, 1]:
    n += rest // c
    rest = rest % c
print(n)
