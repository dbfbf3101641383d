import sys

def main():
    data = list(map(int, sys.stdin.read().split()))
    deck = data[0]
    crossings, used, empty = 0, None, 0
    for length in data[2:]:
        if used is None:
            used = length
        elif used + length > deck:
            crossings += 1
            empty = max(empty, deck - used)
            used = length
        else:
            used += length
    crossings += 1
    empty = max(empty, deck - used)
    print(crossings, empty)

main()
