p, q = map(int, input().split())
change = q - p
coins = [1, 2, 5, 10, 20, 50, 100, 200]
count = 0
while change > 0:
    best = max(c for c in coins if c <= change)
    change -= best
    count += 1
print(count)
