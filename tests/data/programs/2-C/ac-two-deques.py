import sys
from collections import deque

def main():
    data = list(map(int, sys.stdin.buffer.read().split()))
    n, k = data[0], data[1]
    heights = data[2:2 + n]
    low, high = deque(), deque()
    left = best = 0
    for right, h in enumerate(heights):
        while low and heights[low[-1]] >= h:
            low.pop()
        low.append(right)
        while high and heights[high[-1]] <= h:
            high.pop()
        high.append(right)
        while heights[high[0]] - heights[low[0]] > k:
            if low[0] == left:
                low.popleft()
            if high[0] == left:
                high.popleft()
            left += 1
        best = max(best, right - left + 1)
    print(best)

main()
