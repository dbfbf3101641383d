"""A programming task: its tests, its limits, and how an output is judged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pytest_crmeval.ports.sandbox import Program


class TestKind(StrEnum):
    """Where a test is from."""

    __test__ = False  # pytest is not to collect it

    EXAMPLE = "example"
    OFFICIAL = "official"
    GENERATED = "generated"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemTest:
    """One input and its expected output."""

    input: str = field(repr=False)
    output: str = field(repr=False)
    """The expected output; a checker may accept others."""
    kind: TestKind = TestKind.OFFICIAL
    skipped: str = ""
    """Why it is not run: its input is larger than the user wants; empty if it is run."""


class Compare(StrEnum):
    """How an output is compared with the right one, where there is no checker."""

    TOKENS = "tokens"
    """The same words, however they are spaced; numbers as the tolerance says, yes and no in any case."""
    WORDS = "words"
    """The same words, however they are spaced; yes and no in any case. Numbers are words: ``2`` is not ``2.0``."""
    EXACT = "exact"
    """The same lines; only line ends, blanks at their ends, and empty lines at the end don't count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputComparison:
    """What counts as the same output."""

    mode: Compare = Compare.TOKENS
    any_case: bool = True
    """Whether yes and no may be written in any case; nothing else may."""
    tolerance: float | None = None
    """How far a number may be off, absolutely or relatively; None: not at all. Zeros at the end of a fraction don't
    count: ``2.0`` is ``2``."""
    integers: bool = True
    """Whether the tolerance also applies where an integer in plain digits is expected."""


JUDGE_MESSAGE = "judgemessage.txt"
"""What a Kattis validator writes for the judge, in the folder that it is given."""


class CheckerStyle(StrEnum):
    """How a checker is called, and how it answers."""

    STDOUT = "stdout"
    """``checker input.txt correct_output.txt solution_output.txt``; it prints 1 (or 100) or 0."""
    TESTLIB = "testlib"
    """``checker input output answer``; exit code 0 accepts, 1, 2 and 4 reject, anything else is its own trouble."""
    KATTIS = "kattis"
    """``validator input answer feedback_dir < output``; exit code 42 accepts, 43 rejects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """A program that decides about outputs if several are correct."""

    style: CheckerStyle
    program: Program


class CheckerOpinion(StrEnum):
    """The verdict of a checker on an output."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    TROUBLE = "trouble"
    """No answer: a crash, a limit, or an answer that can't be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckerFinding:
    """An opinion and its reason."""

    opinion: CheckerOpinion
    reason: str = ""


class Examples(StrEnum):
    """When the examples of a problem's statement are also used as tests."""

    INSTEAD = "instead"
    """Only where there is no other test."""
    ALWAYS = "always"
    """Before the others."""
    NEVER = "never"


class Sizes(StrEnum):
    """In which order the generated tests of a problem are taken, and run."""

    NONE = "none"
    """As they are numbered."""
    SMALL_FIRST = "small_first"
    LARGE_FIRST = "large_first"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestChoice:
    """Which tests of a problem are run."""

    __test__ = False  # pytest is not to collect it

    examples: Examples = Examples.INSTEAD
    generated: Path | None = None
    """Folder of generated tests, a parquet file per contest."""
    max_generated: int | None = 0
    """Per problem; None: all."""
    sizes: Sizes = Sizes.NONE
    max_bytes: int | None = None
    """Of the generated tests of a problem together, inputs and outputs."""
    share: float = 1.0
    """Of the generated tests, drawn by the seed and the problem's id: the same ones, whatever else is run."""
    seed: int = 0
    skip_larger: int | None = 50_000_000
    """Bytes of an input; a test with a larger one is reported as skipped, not as wrong. None: all are run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCall:
    """How the tests of a problem call a function of the program, in place of running it on standard input.

    The input of such a test is a job for the harness, as JSON. If it has arguments, the output is the JSON of a list of
    accepted values; otherwise the tests are code, and there is no output.
    """

    entry_point: str
    """The function, or the method of the class ``Solution``; empty if tests that are code call it by themselves."""
    prompt: str = ""
    """The beginning of the program, which a completion continues."""
    usual_imports: bool = False
    """Whether solutions count on the imports that LeetCode makes."""


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
    comparison: OutputComparison = field(default_factory=OutputComparison)
    checker: Checker | None = None
    function: FunctionCall | None = None
    """None: the program is run as a whole."""
    unsupported: str = ""
    """Why no program can be judged by it here: it is interactive, it has no tests."""
    note: str = ""
    """What to know about its verdicts: the user has chosen to leave out its generated tests."""
    rating: int | None = None
    tags: Sequence[str] = ()
