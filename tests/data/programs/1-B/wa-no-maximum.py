t, n = map(int, input().split())
shifts = sorted(tuple(map(int, input().split())) for _ in range(n))
reached = 0
ok = True
for a, b in shifts:
    if a > reached:
        ok = False
        break
    reached = b
print("YES" if ok and reached >= t else "NO")
