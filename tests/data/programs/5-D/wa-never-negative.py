a = int(input())
b = int(input())
c = int(input())
print(max(0, a * b - c))
