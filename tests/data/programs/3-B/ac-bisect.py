from bisect import bisect_left

n = int(input())
ends = []
for offer in map(int, input().split()):
    at = bisect_left(ends, offer)
    if at == len(ends):
        ends.append(offer)
    else:
        ends[at] = offer
print(len(ends))
