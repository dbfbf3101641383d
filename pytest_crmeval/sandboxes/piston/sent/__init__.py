"""What is sent along with a program: it feeds the program, and brings back what a server would not."""
