"""Playing cases: pure, synchronous, no I/O of its own."""
