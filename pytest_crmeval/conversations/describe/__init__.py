"""The distribution of a set of conversations."""
