from bisect import bisect_right, insort

n = int(input())
seen = []
total = 0
for h in map(int, input().split()):
    total += len(seen) - bisect_right(seen, h)
    insort(seen, h)
print(total)
