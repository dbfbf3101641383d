price, paid = map(int, input().split())
left = paid - price
coins = 0
for coin in (200, 100, 50, 20, 10, 5, 2, 1):
    coins += left // coin
    left %= coin
print(coins)
