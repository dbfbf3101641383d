s = input().strip()
border = [0] * len(s)
for i in range(1, len(s)):
    k = border[i - 1]
    while k and s[i] != s[k]:
        k = border[k - 1]
    border[i] = k + (s[i] == s[k])
print(len(s) - border[-1])
