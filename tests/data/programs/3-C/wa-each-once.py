s, n = map(int, input().split())
v = list(map(int, input().split()))
INF = 10**9
dp = [0] + [INF] * s
for c in v:
    for t in range(s, c - 1, -1):
        dp[t] = min(dp[t], dp[t - c] + 1)
print(dp[s] if dp[s] < INF else -1)
