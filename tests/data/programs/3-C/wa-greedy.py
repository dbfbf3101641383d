s, n = map(int, input().split())
v = sorted(map(int, input().split()), reverse=True)
used = 0
for x in v:
    used += s // x
    s %= x
print(used if s == 0 else -1)
