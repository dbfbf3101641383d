a, b = map(int, input().split())
s = input().strip()
t = input().strip()
cost = abs(len(s) - len(t)) * a
for x, y in zip(s, t):
    if x != y:
        cost += min(b, 2 * a)
print(cost)
