"""The options of a run: declared, read, and as values."""
