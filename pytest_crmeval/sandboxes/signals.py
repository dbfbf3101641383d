"""What signals are called, also those that Python has no name for."""

import signal

HIGHEST = 64


def name_of(number: int) -> str:
    """Return the name of a signal; of those for real-time programs only the first and the last have their own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN{number - signal.SIGRTMIN:+d}"
