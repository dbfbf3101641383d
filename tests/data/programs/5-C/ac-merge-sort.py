def crossings(heights):
    if len(heights) < 2:
        return heights, 0
    half = len(heights) // 2
    left, a = crossings(heights[:half])
    right, b = crossings(heights[half:])
    count, merged, i = a + b, [], 0
    for h in right:
        while i < len(left) and left[i] <= h:
            merged.append(left[i])
            i += 1
        count += len(left) - i
        merged.append(h)
    return merged + left[i:], count

n = int(input())
print(crossings(list(map(int, input().split())))[1])
