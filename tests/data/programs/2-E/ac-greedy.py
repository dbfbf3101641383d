n = int(input())
total = n * (n + 1) // 2
if total % 2:
    print(-1)
else:
    need, crew = total // 2, []
    for rower in range(n, 0, -1):
        if rower <= need:
            crew.append(rower)
            need -= rower
    print(len(crew))
    print(*crew)
