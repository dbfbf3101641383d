"""Links from figures to the trials that they were taken from."""

import re
from urllib.parse import urlencode

_DIFFERENT = re.compile(r"[#…]")
"""What stands in a reason for what differs from trial to trial."""


def to_trials(**wanted: str) -> str:
    """Return a link to the list of trials, with filters set; what can't be in an address (half an emoji) is a mark."""
    chosen = {name: value for name, value in wanted.items() if value}
    return f"#trials?{urlencode(chosen, errors='replace')}"


def in_common(reason: str) -> str:
    """Return the longest text that all trials of a reason have in theirs."""
    return max((part.strip() for part in _DIFFERENT.split(reason)), key=len)
