"""Private names of pytest and xdist."""
