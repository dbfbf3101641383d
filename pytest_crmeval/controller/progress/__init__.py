"""The progress of a run, shown while pytest runs it."""
