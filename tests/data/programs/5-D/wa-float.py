a = float(input())
b = float(input())
c = float(input())
print(f"{a * b - c:.0f}")
