"""What commands have in common: what they say when something is wrong, how far they are."""

import argparse
import sys


class UsageError(Exception):
    """Something that the person who typed the command can mend."""


def count(text: str) -> int:
    """Return a number that may be 0, as an option's ``type``."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be 0 or more, not {number}")
    return number


def positive(text: str) -> int:
    """Return a number of at least 1, as an option's ``type``."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {number}")
    return number


def show_progress(done: int) -> None:
    """Say how far it is, to a person; 0 takes it back."""
    if sys.stderr.isatty() and done % 100 == 0:
        sys.stderr.write(f"\r{done} conversations" if done else "\r\x1b[K")
        sys.stderr.flush()
