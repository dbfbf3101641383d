"""What all commands share: the error for the user, option types, the width of the terminal, a progress line."""

import argparse
import sys


class UsageError(Exception):
    """An error that the user of the command can correct."""


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


def width() -> int | None:
    """Return the width of the terminal that the output goes to; None for a file or a pipe."""
    from shutil import get_terminal_size  # slow to load, and not needed for JSON

    return get_terminal_size().columns if sys.stdout.isatty() else None


def show_progress(done: int) -> None:
    """Show the number of conversations done on a terminal; 0 removes the line."""
    if sys.stderr.isatty() and done % 100 == 0:
        sys.stderr.write(f"\r{done} conversations" if done else "\r\x1b[K")
        sys.stderr.flush()
