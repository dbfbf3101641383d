import sys

def main():
    data = list(map(int, sys.stdin.buffer.read().split()))
    night, n = data[0], data[1]
    shifts = sorted(zip(data[2::2], data[3::2]))
    awake_until = 0
    for begin, end in shifts:
        if begin > awake_until:
            break
        awake_until = max(awake_until, end)
    print("YES" if awake_until >= night else "NO")

main()
