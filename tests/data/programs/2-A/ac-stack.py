signs = input().strip()
closing = {"(": ")", "[": "]", "{": "}", "<": ">"}
stack = []
wrong = 0
for place, sign in enumerate(signs, start=1):
    if sign in closing:
        stack.append(closing[sign])
    elif not stack or stack.pop() != sign:
        wrong = place
        break
else:
    if stack:
        wrong = len(signs) + 1
print(wrong or "ok")
