L, n = map(int, input().split())
cars = list(map(int, input().split()))
trips = 1
used = 0
worst = 0
for c in cars:
    if used + c > L:
        worst = max(worst, L - used)
        trips += 1
        used = 0
    used += c
print(trips, worst)
