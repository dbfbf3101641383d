n = int(input())
readings = sorted(map(float, input().split()))
kept = readings[1:-1]
print(sum(kept) / len(kept))
