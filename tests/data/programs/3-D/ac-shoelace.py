from math import hypot

n = int(input())
corners = [tuple(map(float, input().split())) for _ in range(n)]
fence = area = 0.0
for (x, y), (u, v) in zip(corners, corners[1:] + corners[:1]):
    fence += hypot(u - x, v - y)
    area += x * v - u * y
print(f"{fence:.9f} {abs(area) / 2:.9f}")
