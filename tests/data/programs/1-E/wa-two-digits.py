n = int(input())
v = sorted(map(float, input().split()))[1:-1]
print(f"{sum(v) / len(v):.2f}")
