"""Messages on stderr: shortened, and as they would be without the runner."""

import re

from pytest_crmeval.sandboxes.piston.requests import FRONT, INCLUDED
from pytest_crmeval.sandboxes.piston.sent.runner import KEPT

_FIRST = 65_536
"""Bytes of what a compiler says: the first error is the one to look at."""
_FRONT = rf"{re.escape(FRONT)}(?:\.cpp)?"
"""Some servers add an ending of their own."""
_INCLUDED = re.compile(rf"^In file included from {_FRONT}:\d+:\n", re.MULTILINE)
_CHAINED = re.compile(rf",\n +from {_FRONT}:\d+:$", re.MULTILINE)
_NAMES = re.compile(rf"{_FRONT}|\b{re.escape(INCLUDED)}\b")


def last(said: str) -> bytes:
    """Return the end of a program's stderr, where a traceback has its message."""
    return said.encode("utf-8", "surrogatepass")[-KEPT:]


def compilers(said: str) -> bytes:
    """Return the compiler's messages as if the program were compiled alone, as main.cpp."""
    alone = _CHAINED.sub(":", _INCLUDED.sub("", said))
    return _NAMES.sub("main.cpp", alone).encode("utf-8", "surrogatepass")[:_FIRST]
