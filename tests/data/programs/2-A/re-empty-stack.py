s = input().strip()
pairs = {")": "(", "]": "[", "}": "{", ">": "<"}
st = []
for i, c in enumerate(s):
    if c in pairs:
        if st[-1] != pairs[c]:
            print(i + 1)
            break
        st.pop()
    else:
        st.append(c)
else:
    print("ok" if not st else len(s) + 1)
