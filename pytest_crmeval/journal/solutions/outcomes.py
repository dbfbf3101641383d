"""Checkpoints, and how the lines of their solution files were judged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_crmeval.domain.file_outcome import TestVerdict


class Defect(StrEnum):
    """Why a line of a solution file can't be judged: counted apart, and never as wrong."""

    BAD_LINE = "bad line"
    NO_ID = "no id"
    UNKNOWN_PROBLEM = "unknown problem"
    NO_CODE = "no code"
    TRUNCATED = "truncated"
    """The text ends within its program."""
    UNSUPPORTED = "unsupported problem"
    """Interactive, without tests, or in a language that can't be run here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A saved state of a model; who is evaluated."""

    name: str
    """``checkpoint-196``: the name of its folder; ``run-a/checkpoint-196`` where several folders are called so."""
    step: int | None
    """196; None for a folder whose name has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ungradable:
    """A line of a solution file that can't be judged."""

    defect: Defect
    line: int
    problem: str = ""
    sample: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOutcome:
    """How a program did on one test."""

    __test__ = False  # pytest is not to collect it

    verdict: TestVerdict
    kind: str
    """Example, official or generated."""
    reason: str = ""
    """The first difference, the exception, the limit; empty if it was accepted."""
    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    memory_bytes: int | None = None
    output: str = field(default="", repr=False)
    """The beginning of what it printed, where that helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionOutcome:
    """How one program was judged."""

    problem: str
    line: int
    sample: int
    verdict: TestVerdict
    """AC if every test was; else that of the first test that was failed; JE if none was and one was not judged."""
    reason: str = ""
    tests: Sequence[TestOutcome] = field(default=(), repr=False)
    rating: int | None = None
    tags: Sequence[str] = ()
    note: str = ""
    """What to know about the verdict; empty if there is nothing."""

    @property
    def solved(self) -> bool:
        """Whether every test was passed."""
        return self.verdict is TestVerdict.ACCEPTED

    @property
    def judged(self) -> bool:
        """Whether there is a verdict that speaks of the program."""
        return self.verdict not in {TestVerdict.JUDGE_ERROR, TestVerdict.SKIPPED}
