from bisect import bisect_left, insort

n = int(input())
s = []
ans = 0
for x in map(int, input().split()):
    ans += len(s) - bisect_left(s, x)
    insort(s, x)
print(ans)
