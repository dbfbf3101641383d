a, b = map(int, input().split())
first, second = input().strip(), input().strip()
row = [a * j for j in range(len(second) + 1)]
for i, letter in enumerate(first, start=1):
    above, row = row, [a * i]
    for j, other in enumerate(second, start=1):
        same = above[j - 1] + (0 if letter == other else b)
        row.append(min(same, above[j] + a, row[-1] + a))
print(row[-1])
