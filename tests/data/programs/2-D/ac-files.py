from itertools import accumulate

with open("tide.in") as source:
    n, q = map(int, source.readline().split())
    sums = [0, *accumulate(map(int, source.readline().split()))]
    spans = [tuple(map(int, source.readline().split())) for _ in range(q)]
with open("tide.out", "w") as target:
    for first, last in spans:
        target.write(f"{sums[last] - sums[first - 1]}\n")
