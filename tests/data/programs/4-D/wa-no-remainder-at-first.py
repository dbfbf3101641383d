M = 10**9 + 7
a, b, c, x, y, n = map(int, input().split())

def mul(p, q):
    return [[sum(p[i][k] * q[k][j] for k in range(2)) % M for j in range(2)] for i in range(2)]

def power(m, e):
    r = [[1, 0], [0, 1]]
    while e:
        if e % 2:
            r = mul(r, m)
        m = mul(m, m)
        e //= 2
    return r

if n <= 2:
    print([x, y][n - 1])
else:
    m = power([[a, b], [1, 0]], n - 2)
    print((m[0][0] * y + m[0][1] * x + c) % M)
