import sys

def main():
    data = list(map(int, sys.stdin.buffer.read().split()))
    n, m = data[0], data[1]
    root = list(range(n + 1))

    def find(x):
        while root[x] != x:
            root[x] = root[root[x]]
            x = root[x]
        return x

    groups, shown = n, []
    for a, b in zip(data[2::2], data[3::2]):
        a, b = find(a), find(b)
        if a != b:
            root[a] = b
            groups -= 1
        shown.append(groups)
    print(*shown, sep="\n")

main()
