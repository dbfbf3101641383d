n, low, high = map(int, input().split())
weights = list(map(int, input().split()))
last = {0: None}
for stone, weight in enumerate(weights, start=1):
    for total in list(last):
        more = total + weight
        if more <= high and more not in last:
            last[more] = (stone, total)
goal = next((total for total in range(low, high + 1) if total in last), None)
if goal is None:
    print("NONE")
else:
    taken = []
    while last[goal]:
        stone, goal = last[goal]
        taken.append(stone)
    print(len(taken))
    print(*taken)
