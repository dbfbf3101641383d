w, h = map(int, input().split())
label = input()
inside = w - 2
left = (inside - len(label)) // 2
line = "." * left + label + "." * (inside - left - len(label))
middle = (h - 2 - 1) // 2
print("#" * w)
for row in range(h - 2):
    print("#" + (line if row == middle else "." * inside) + "#")
print("#" * w)
