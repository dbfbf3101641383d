t, n = map(int, input().split())
total = 0
for _ in range(n):
    a, b = map(int, input().split())
    total += b - a
print("Yes" if total >= t else "No")
