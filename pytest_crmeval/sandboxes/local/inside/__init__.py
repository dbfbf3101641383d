"""The code that runs inside the isolation: started by path, with only the standard library."""
