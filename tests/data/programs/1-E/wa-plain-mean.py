n = int(input())
v = list(map(float, input().split()))
print(sum(v) / n)
