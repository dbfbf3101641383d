n = int(input())
v = list(map(float, input().split()))
lo, hi = min(v), max(v)
v = [x for x in v if x != lo and x != hi]
print(sum(v) / len(v))
