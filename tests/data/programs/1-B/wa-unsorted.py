t, n = map(int, input().split())
end = 0
for _ in range(n):
    a, b = map(int, input().split())
    if a <= end:
        end = max(end, b)
print("yes" if end >= t else "no")
