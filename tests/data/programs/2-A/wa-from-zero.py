s = input().strip()
pairs = {")": "(", "]": "[", "}": "{", ">": "<"}
st = []
for i, c in enumerate(s):
    if c in pairs:
        if not st or st.pop() != pairs[c]:
            print(i)
            break
    else:
        st.append(c)
else:
    print("ok" if not st else len(s))
