"""A programming task: its tests, its limits, and how an output is judged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_crmeval.domain.program import Program


class TestKind(StrEnum):
    """Where a test is from."""

    __test__ = False  # pytest is not to collect it

    EXAMPLE = "example"
    OFFICIAL = "official"
    GENERATED = "generated"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemTest:
    """One input and what is right for it."""

    input: str = field(repr=False)
    output: str = field(repr=False)
    """What a right program prints; a checker may accept others."""
    kind: TestKind = TestKind.OFFICIAL


class Compare(StrEnum):
    """How an output is compared with the right one, where there is no checker."""

    TOKENS = "tokens"
    """The same words, however they are spaced; numbers as the tolerance says, yes and no in any case."""
    EXACT = "exact"
    """The same lines; only line ends, blanks at their ends, and empty lines at the end don't count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What counts as the same output."""

    mode: Compare = Compare.TOKENS
    any_case: bool = True
    """Whether yes and no may be written in any case; nothing else may."""
    tolerance: float | None = None
    """How far, absolutely or relatively, a number may be off where the right one has a point or an exponent; None:
    the same digits."""


class CheckerStyle(StrEnum):
    """How a checker is called, and how it answers."""

    STDOUT = "stdout"
    """``checker input.txt correct_output.txt solution_output.txt``; it prints 1 (or 100) or 0."""
    TESTLIB = "testlib"
    """``checker input output answer``; exit code 0 accepts, 1 and 2 reject, anything else is its own trouble."""
    KATTIS = "kattis"
    """``validator input answer feedback_dir < output``; exit code 42 accepts, 43 rejects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """A program that judges outputs of which several are right."""

    style: CheckerStyle
    program: Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A task with its tests."""

    id: str
    fingerprint: str
    """Changes when anything changes that a verdict depends on."""
    tests: Sequence[ProblemTest] = field(repr=False)
    time_limit: float
    """Seconds."""
    memory_limit: int
    """Bytes."""
    input_file: str = ""
    """What a program reads in file mode; empty: stdin."""
    output_file: str = ""
    """What a program writes in file mode; empty: stdout."""
    comparison: Comparison = field(default_factory=Comparison)
    checker: Checker | None = None
    unsupported: str = ""
    """Why nobody can be judged by it here: it is interactive, it has no tests."""
    rating: int | None = None
    tags: Sequence[str] = ()
