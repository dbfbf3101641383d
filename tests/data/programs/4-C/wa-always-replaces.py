a, b = map(int, input().split())
s = input().strip()
t = input().strip()
n, m = len(s), len(t)
dp = [[0] * (m + 1) for _ in range(n + 1)]
for i in range(n + 1):
    for j in range(m + 1):
        if not i:
            dp[i][j] = j * a
        elif not j:
            dp[i][j] = i * a
        elif s[i - 1] == t[j - 1]:
            dp[i][j] = dp[i - 1][j - 1]
        elif i == j:
            dp[i][j] = dp[i - 1][j - 1] + b
        else:
            dp[i][j] = min(dp[i - 1][j] + a, dp[i][j - 1] + a, dp[i - 1][j - 1] + b)
print(dp[n][m])
