"""A problem that was read from a file, before its tests are chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_crmeval.solutions.problem import Problem, ProblemTest

MIB = 2**20
SECONDS = 2.0
"""The default time limit."""
MEGABYTES = 256.0
"""The default memory limit."""
INTERACTIVE = "it is interactive"


class FieldError(Exception):
    """An invalid problem; the message names the field."""


class NotJsonError(FieldError):
    """A line that is not even JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A problem before its tests are chosen; its tests are the official ones."""

    problem: Problem
    aliases: Sequence[str] = ()
    examples: Sequence[ProblemTest] = field(default=(), repr=False)
    contest: str = ""
    generated: int = 0
    """The number of generated tests according to the row."""
    complete: bool = False
    """Whether the official tests are all that the judge of the contest has, so that they decide alone."""
    only_one: bool = False
    """Whether a second problem with the same id in the file is an error; published tables have duplicates."""
