"""Messages of players on other machines, besides those of all workers in ``channel.py``."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_crmeval.channel import ChannelMessage


@dataclass(frozen=True)
class NextCase(ChannelMessage[bytes | None]):
    """Wait for a case to play on another machine; the answer is the case with its content, or None."""


@dataclass(frozen=True)
class NextProgram(ChannelMessage[tuple[int, bytes]]):
    """Wait for a program of a solution file to judge on another machine; the answer is its number and its content."""


@dataclass(frozen=True)
class ProgramJudged(ChannelMessage[None]):
    """A program was judged on another machine."""

    number: int
    outcome: bytes = b""
    """As JSON."""
    is_gradable: bool = True
    """Whether there is a verdict; otherwise the outcome says why there can be none."""
    notes: Sequence[str] = ()
    """What to know about the verdicts of this machine."""
    error: str = ""
    """Why the judge failed; empty if it did not."""


@dataclass(frozen=True)
class FindProblem(ChannelMessage[bytes]):
    """Ask for a problem of a solution file, with its tests."""

    file: int
    problem: str
