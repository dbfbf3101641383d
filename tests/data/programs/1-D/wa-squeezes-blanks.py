w, h = map(int, input().split())
s = " ".join(input().split())
rows = ["." * (w - 2)] * (h - 2)
pad = w - 2 - len(s)
rows[(h - 3) // 2] = "." * (pad // 2) + s + "." * (pad - pad // 2)
print("#" * w)
for r in rows:
    print("#" + r + "#")
print("#" * w)
