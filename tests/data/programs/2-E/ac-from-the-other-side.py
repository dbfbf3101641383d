n = int(input())
if n % 4 in (1, 2):
    print(-1)
else:
    crew = []
    start = 1
    if n % 4 == 3:
        crew = [1, 2]
        start = 4
    for a in range(start, n, 4):
        crew += [a, a + 3]
    print(len(crew))
    print(" ".join(map(str, crew)))
