n = int(input())
if n * (n + 1) // 2 % 2:
    print(-1)
else:
    crew = list(range(1, n + 1, 2))
    print(len(crew))
    print(*crew)
