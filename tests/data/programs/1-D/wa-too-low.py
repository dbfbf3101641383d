w, h = map(int, input().split())
s = input()
pad = w - 2 - len(s)
print("#" * w)
for r in range(h - 2):
    if r == (h - 2) // 2:
        print("#" + "." * (pad // 2) + s + "." * (pad - pad // 2) + "#")
    else:
        print("#" + "." * (w - 2) + "#")
print("#" * w)
