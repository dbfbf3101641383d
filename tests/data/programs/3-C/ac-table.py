s, n = map(int, input().split())
stamps = list(map(int, input().split()))
many = s + 1
few = [0] + [many] * s
for total in range(1, s + 1):
    for stamp in stamps:
        if stamp <= total and few[total - stamp] + 1 < few[total]:
            few[total] = few[total - stamp] + 1
print(few[s] if few[s] < many else -1)
