s = input().strip()
i = s.find(s[0], 1)
while i != -1 and s[i:i + 2] != s[:2]:
    i = s.find(s[0], i + 1)
print(len(s) if i == -1 else i)
