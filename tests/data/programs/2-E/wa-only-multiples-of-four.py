n = int(input())
if n % 4:
    print(-1)
else:
    crew = []
    for a in range(1, n, 4):
        crew += [a, a + 3]
    print(len(crew))
    print(*crew)
