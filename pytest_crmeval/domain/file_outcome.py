"""Results of one solution file, as its trial has them."""

from collections.abc import Mapping
from enum import StrEnum
from math import comb
from typing import Any

from pytest_crmeval.domain.records import Record, always

PASS_AT_1 = "pass@1"  # noqa: S105 (no password)
"""Name of the score of a solution file, and of the metric of its checkpoint."""


class TestVerdict(StrEnum):
    """The verdict on a program for one test, or for all tests."""

    __test__ = False  # pytest is not to collect it

    ACCEPTED = "AC"
    WRONG_ANSWER = "WA"
    TIME_LIMIT = "TLE"
    MEMORY_LIMIT = "MLE"
    RUNTIME_ERROR = "RE"
    OUTPUT_LIMIT = "OLE"
    COMPILE_ERROR = "CE"
    JUDGE_ERROR = "JE"
    """The sandbox or a checker failed, which says nothing about the program."""
    SKIPPED = "SKIPPED"
    """Not run, because an earlier test has decided or the time ran out."""


UNJUDGED = frozenset({str(TestVerdict.JUDGE_ERROR), str(TestVerdict.SKIPPED)})
Shares = Mapping[str, tuple[int, int]]
"""Label -> solved and graded solutions."""
Samples = tuple[tuple[int, int, int], ...]
"""Judged and solved solutions of a problem, and the number of such problems, sorted."""
_NOTHING: Mapping[str, Any] = {}


class FileOutcome(Record, frozen=True, kw_only=True):
    """The results of one solution file; the counts add up to its lines."""

    step: int | None = always(None)
    """The step of the checkpoint; None if unknown."""
    verdicts: Mapping[str, int] = always(_NOTHING)
    """AC, WA and so on -> solutions."""
    ungradable: Mapping[str, int] = always(_NOTHING)
    """Why a line can't be graded -> lines."""
    missing: int = always(0)
    """Lines that were not reached in time."""
    samples: Samples = always(())
    """Judged and solved solutions of a problem, and the number of such problems; in this order, sorted."""
    by: Mapping[str, Shares] = always(_NOTHING)
    """Solved and graded solutions by rating and by tag."""
    results: str = always("")
    """The file with all verdicts, relative to the folder of the run."""
    reused: int = 0
    """Number of verdicts taken from an earlier evaluation of the same file."""
    reused_from: str = ""
    """The run of that evaluation; empty if all verdicts are new."""

    @property
    def solved(self) -> int:
        """Solutions that passed every test."""
        return self.verdicts.get(TestVerdict.ACCEPTED, 0)

    @property
    def judged(self) -> int:
        """Solutions with a verdict about the program."""
        return sum(count for verdict, count in self.verdicts.items() if verdict not in UNJUDGED)

    @property
    def unjudged(self) -> int:
        """Solutions without a verdict, because infrastructure failed or the time ran out."""
        return sum(self.verdicts.get(verdict, 0) for verdict in UNJUDGED) + self.missing

    @property
    def lines(self) -> int:
        """Number of lines in the file, graded or not."""
        return self.judged + self.unjudged + sum(self.ungradable.values())

    @property
    def pass_at_1(self) -> float | None:
        """Share of graded solutions that are solved, with equal weight for each problem; None if none was graded."""
        return mean_pass(self.samples, 1)


def mean_pass(samples: Samples, k: int) -> float | None:
    """Return the mean of pass@k over the problems with at least k graded samples; None if there are none."""
    problems = problems_of(samples, k)
    if not problems:
        return None
    return sum(count * pass_at(n, c, k) for n, c, count in samples if n >= k) / problems


def problems_of(samples: Samples, k: int) -> int:
    """Return the number of problems with at least k graded samples."""
    return sum(count for judged, _, count in samples if judged >= k)


def pass_at(tried: int, passed: int, k: int) -> float:
    """Return the probability that at least one of ``k`` trials passes, given the numbers of tried and passed ones."""
    return 1.0 - comb(tried - passed, k) / comb(tried, k)
