s = input().strip()
n = len(s)
for d in range(1, n + 1):
    if n % d == 0 and s[:d] * (n // d) == s:
        print(d)
        break
