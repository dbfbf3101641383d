from bisect import bisect_right

n = int(input())
t = []
for x in map(int, input().split()):
    i = bisect_right(t, x)
    if i == len(t):
        t.append(x)
    else:
        t[i] = x
print(len(t))
