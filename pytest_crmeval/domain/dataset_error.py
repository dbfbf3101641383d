"""Errors in dataset files."""

SHOWN = 5
"""How many errors of a file are reported at once."""


class DatasetError(Exception):
    """A file that can't be played; the message names file, line and field, and what to do."""
