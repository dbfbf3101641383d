import math

n = int(input())
p = [tuple(map(float, input().split())) for _ in range(n)]
length = 0
area = 0
for i in range(n - 1):
    length += math.dist(p[i], p[i + 1])
    area += p[i][0] * p[i + 1][1] - p[i + 1][0] * p[i][1]
print(length, abs(area) / 2)
