"""The runner that is sent along with a program: it provides the input, and returns output that a server would lose."""
