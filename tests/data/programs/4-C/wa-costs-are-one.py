a, b = map(int, input().split())
s = input().strip()
t = input().strip()
d = [[0] * (len(t) + 1) for _ in range(len(s) + 1)]
for i in range(len(s) + 1):
    for j in range(len(t) + 1):
        if i == 0 or j == 0:
            d[i][j] = i + j
        else:
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (s[i - 1] != t[j - 1]))
print(d[-1][-1])
