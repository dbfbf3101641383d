import sys
from collections import deque

def main():
    data = list(map(int, sys.stdin.read().split()))
    n, m = data[0], data[1]
    after = [[] for _ in range(n + 1)]
    waits = [0] * (n + 1)
    for a, b in zip(data[2::2], data[3::2]):
        after[a].append(b)
        waits[b] += 1
    ready = deque(job for job in range(1, n + 1) if not waits[job])
    order = []
    while ready:
        job = ready.popleft()
        order.append(job)
        for other in after[job]:
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    print(*order if len(order) == n else ["IMPOSSIBLE"])

main()
