import sys
from bisect import bisect_left, insort

def main():
    data = list(map(int, sys.stdin.buffer.read().split()))
    n, k = data[0], data[1]
    readings = data[2:]
    window = sorted(readings[:k])
    middle = (k - 1) // 2
    shown = [window[middle]]
    for old, new in zip(readings, readings[k:]):
        window.pop(bisect_left(window, old))
        insort(window, new)
        shown.append(window[middle])
    print(*shown)

main()
