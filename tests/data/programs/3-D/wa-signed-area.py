import math

n = int(input())
p = [tuple(map(float, input().split())) for _ in range(n)]
length = 0
area = 0
for i in range(n):
    x1, y1 = p[i]
    x2, y2 = p[(i + 1) % n]
    length += math.sqrt((x1 - x2) ** 2 + (y1 - y2) ** 2)
    area += x1 * y2 - x2 * y1
print(length, area / 2)
