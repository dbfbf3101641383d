"""Solution files, and the programs in them."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pytest_crmeval.journal.solutions.outcomes import Checkpoint
from pytest_crmeval.ports.sandbox import Program


class Extraction(StrEnum):
    """Which complete fenced block of a response is the program."""

    FIRST = "first"
    LAST = "last"
    LONGEST = "longest"


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionFile:
    """One case: a JSON Lines file of one checkpoint, read when it is run."""

    id: str
    """Name of the file without its ending, with the folders between it and the checkpoint's."""
    fingerprint: str
    """Changes when anything changes that its verdicts depend on."""
    path: Path
    checkpoint: Checkpoint
    broken: str = ""
    """Why it can't be read: a dangling link, a pipe, no permission; empty if it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """One program for one problem."""

    problem: str
    """The problem's id."""
    line: int
    """Its line in the file."""
    sample: int = 0
    """Number of the line among those of the same problem, from 0."""
    program: Program
    continues_prompt: bool = False
    """Whether the program is a completion: it continues the prompt of its problem, if that has one."""
