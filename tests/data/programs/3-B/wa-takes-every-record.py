n = int(input())
a = list(map(int, input().split()))
count = 0
last = -10**18
for x in a:
    if x > last:
        count += 1
        last = x
print(count)
