"""Checkpoints, and how the lines of their solution files were graded."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_crmeval.domain.file_outcome import TestVerdict


class Defect(StrEnum):
    """Why a line of a solution file can't be graded; it is counted separately, never as wrong."""

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
    """A saved state of a model: the subject of solution files."""

    name: str
    """``checkpoint-196``, the name of its folder; ``run-a/checkpoint-196`` if several folders have this name."""
    step: int | None
    """196; None for a folder whose name has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ungradable:
    """A line of a solution file that can't be graded."""

    defect: Defect
    line: int
    problem: str = ""
    sample: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOutcome:
    """The result of a program for one test."""

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
    """The beginning of its output, if that helps."""
    input: str = field(default="", repr=False)
    """The beginning of its input; only of the first test that failed."""
    expected: str = field(default="", repr=False)
    """The beginning of the expected output; only of the first test that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionOutcome:
    """The result of one program."""

    problem: str
    line: int
    sample: int
    verdict: TestVerdict
    """AC if every test is AC; else the first verdict that fails the program; JE if only the judge failed."""
    reason: str = ""
    tests: Sequence[TestOutcome] = field(default=(), repr=False)
    rating: int | None = None
    tags: Sequence[str] = ()
    note: str = ""
    """A remark about the verdict; empty if there is none."""
    program: str = field(default="", repr=False)
    """Its source, if it has failed."""

    @property
    def solved(self) -> bool:
        """Whether every test was passed."""
        return self.verdict is TestVerdict.ACCEPTED

    @property
    def judged(self) -> bool:
        """Whether there is a verdict about the program."""
        return self.verdict not in {TestVerdict.JUDGE_ERROR, TestVerdict.SKIPPED}
