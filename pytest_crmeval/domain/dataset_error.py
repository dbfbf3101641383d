"""Errors in dataset files."""

SHOWN = 5
"""How many errors of a file are reported at once."""


class DatasetError(Exception):
    """A dataset file is invalid; the message names file, line and field, and says what to do."""
