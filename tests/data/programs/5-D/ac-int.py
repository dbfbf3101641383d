chests, worth, owed = (int(input()) for _ in range(3))
print(chests * worth - owed)
