MOD = 10**9 + 7

def times(p, q):
    return [[sum(p[i][k] * q[k][j] for k in range(3)) % MOD for j in range(3)] for i in range(3)]

a, b, c, x, y, n = map(int, input().split())
if n == 1:
    print(x % MOD)
else:
    step = [[a, b, c], [1, 0, 0], [0, 0, 1]]
    power = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    n -= 2
    while n:
        if n & 1:
            power = times(power, step)
        step = times(step, step)
        n >>= 1
    print((power[0][0] * y + power[0][1] * x + power[0][2]) % MOD)
