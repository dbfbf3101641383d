"""From a case and what happened to scores: pure, synchronous, no I/O of its own."""
