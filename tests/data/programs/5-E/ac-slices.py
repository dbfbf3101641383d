heard = input().strip()
n = len(heard)
for length in range(1, n + 1):
    if heard[length:] == heard[:n - length]:
        print(length)
        break
