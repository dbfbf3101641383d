import heapq
import sys

def main():
    data = list(map(int, sys.stdin.buffer.read().split()))
    n = data[0]
    canals = [[] for _ in range(n + 1)]
    for a, b, toll in zip(data[2::3], data[3::3], data[4::3]):
        canals[a].append((b, toll))
    done = set()
    heap = [(0, 1)]
    while heap:
        cost, place = heapq.heappop(heap)
        if place == n:
            print(cost)
            return
        if place in done:
            continue
        done.add(place)
        for there, toll in canals[place]:
            if there not in done:
                heapq.heappush(heap, (cost + toll, there))
    print(-1)

main()
