L, n = map(int, input().split())
cars = list(map(int, input().split()))
decks = []
for c in cars:
    for i, d in enumerate(decks):
        if d >= c:
            decks[i] -= c
            break
    else:
        decks.append(L - c)
print(len(decks), max(decks))
