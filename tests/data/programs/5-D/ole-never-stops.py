a = int(input())
b = int(input())
c = int(input())
left = a * b - c
text = str(abs(left))
if left >= 0:
    print(text)
else:
    while not text.startswith("-"):
        print("-" + text)
