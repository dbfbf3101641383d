import sys

def main():
    data = list(map(int, sys.stdin.buffer.read().split()))
    n = data[0]
    cables = sorted(zip(data[4::3], data[2::3], data[3::3]))
    root = list(range(n + 1))

    def find(x):
        while root[x] != x:
            root[x] = root[root[x]]
            x = root[x]
        return x

    total, missing = 0, n - 1
    for price, a, b in cables:
        a, b = find(a), find(b)
        if a != b:
            root[a] = b
            total += price
            missing -= 1
    print(-1 if missing else total)

main()
