n = int(input())
total = n * (n + 1) // 2
if total % 2:
    print(-1)
else:
    need, crew = total // 2, []
    for i in range(n, 0, -1):
        if i <= need:
            crew.append(i)
            need -= i
    print(*crew)
