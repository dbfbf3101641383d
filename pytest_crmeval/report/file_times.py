"""Estimated time to judge solution files: no model is called, but programs run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.journal.history import case_of
from pytest_crmeval.report.loads import CaseSize
from pytest_crmeval.report.usage_history import UsageHistory

SECONDS_PER_SOLUTION = 1.0
QUEUE = "solution files"
"""Each worker judges one at a time."""
FileGround = Literal["file judged", "files judged", "file guessed"]
"""The source of an estimate: the same file, other files, or a guess."""


FileTimes = tuple[float, Mapping[FileGround, int]]
"""The seconds that some files will take, one after the other, and how many have which source."""


def file_times(cases: Sequence[PlannedCase], memory: UsageHistory, sizes: Mapping[str, CaseSize]) -> FileTimes:
    """Return how long some files will take."""
    usual = memory.seconds_per_solution()
    seconds, grounds = 0.0, Counter[FileGround]()
    for case in cases:
        solutions = sizes[case.key].solutions
        if (took := memory.file_seconds(case_of(case))) is not None:
            ground: FileGround = "file judged"
        elif usual is not None:
            ground, took = "files judged", usual * solutions
        else:
            ground, took = "file guessed", SECONDS_PER_SOLUTION * solutions
        seconds += took
        grounds[ground] += 1
    return seconds, grounds


def assumed_solution() -> str:
    """Return the assumption behind a guess."""
    return f"guess: {SECONDS_PER_SOLUTION:g} s to judge a solution"
