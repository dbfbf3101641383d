s = input().strip()
depth = 0
for i, c in enumerate(s):
    depth += 1 if c in "([{<" else -1
    if depth < 0:
        print(i + 1)
        break
else:
    print("ok" if depth == 0 else len(s) + 1)
