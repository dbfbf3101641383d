from functools import lru_cache

s, n = map(int, input().split())
v = list(map(int, input().split()))

@lru_cache(None)
def best(x):
    if x == 0:
        return 0
    r = float("inf")
    for c in v:
        if c <= x:
            r = min(r, best(x - c) + 1)
    return r

ans = best(s)
print(-1 if ans == float("inf") else ans)
