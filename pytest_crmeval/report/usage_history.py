"""Usage of earlier trials, to estimate that of planned ones."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.journal.history import Case, PastTrial, case_of
from pytest_crmeval.report.loads import CaseSize, UsageEstimate, total_load
from pytest_crmeval.report.role_costs import STUDENT

SECONDS_PER_SOLUTION = 1.0
QUEUE = "solution files"
"""Each worker runs one at a time."""
FileGround = Literal["file judged", "files judged", "file guessed"]
"""The source of an estimate: the same file, other files, or a guess."""
FileTimes = tuple[float, Mapping[FileGround, int]]
"""The seconds that some files will take, one after the other, and how many have which source."""


class UsageHistory:
    """Earlier trials by case and model; of several trials of a case the newest counts.

    For a replayed trial, its tokens count, with the time of the newest trial that was not replayed.
    """

    def __init__(self, history: Iterable[PastTrial]) -> None:
        self._trials: dict[tuple[Case, str], PastTrial] = {}
        self._opinions: dict[tuple[Case, str], Usage] = {}
        self._files: dict[Case, PastTrial] = {}
        for played in history:
            place = (played.case, played.spec)
            if played.solutions:
                self._files.setdefault(played.case, played)
            if played.judged and played.judged.calls:
                self._opinions.setdefault(place, played.judged)
            if played.usage.calls:
                newest = self._trials.setdefault(place, played)
                if newest.seconds is None:
                    self._trials[place] = replace(newest, seconds=played.seconds)
        self._means: dict[tuple[str, bool], UsageEstimate] = {}

    def specs(self, *, questions: bool) -> Sequence[str]:
        """Return every model that has answered questions, or played conversations."""
        return self._specs[questions]

    @cached_property
    def _specs(self) -> Mapping[bool, Sequence[str]]:
        found: dict[bool, set[str]] = {True: set(), False: set()}
        for played in self._trials.values():
            found[played.is_question].add(played.spec)
        return {kind: sorted(specs) for kind, specs in found.items()}

    @cached_property
    def cases(self) -> Mapping[Case, PastTrial]:
        """A trial of each case by any model."""
        return {played.case: played for played in reversed(self._trials.values())}

    def trial(self, case: Case, spec: str) -> PastTrial | None:
        """Return the trial of a case by a model."""
        return self._trials.get((case, spec))

    def turn(self, spec: str = "", *, questions: bool) -> UsageEstimate:
        """Return the mean usage of a turn, or of a question, by one model or by all."""
        place = (spec, questions)
        if place not in self._means:
            alike = [each for each in self._trials.values() if each.is_question is questions]
            found = [each for each in alike if spec in {"", each.spec}]
            self._means[place] = total_load(map(load_of, found)).times(1 / sum(played.turns for played in found))
        return self._means[place]

    def file_seconds(self, case: Case) -> float | None:
        """Return how long a solution file took; None if it was not run before."""
        return self._files[case].seconds if case in self._files else None

    def seconds_per_solution(self) -> float | None:
        """Return the mean time per solution; None if none was run."""
        solutions = sum(played.solutions for played in self._files.values())
        return sum(played.seconds or 0.0 for played in self._files.values()) / solutions if solutions else None

    def opinion(self) -> UsageEstimate | None:
        """Return the mean usage of one opinion of a judge; None if there was none."""
        whole = total_load(map(UsageEstimate.of, self._opinions.values()))
        return whole.times(1 / whole.calls) if whole.calls else None

    def role(self, case: Case, spec: str, role: str) -> UsageEstimate | None:
        """Return the usage of a role of a learner in a case; None if the learner has not played it."""
        played = self._trials.get((case, spec))
        return _role_in(played, role) if played else None

    def role_turn(self, spec: str, role: str) -> UsageEstimate | None:
        """Return the mean usage of a role of a learner per turn; None if the learner has not played."""
        known = [each for each in self._trials.values() if each.spec == spec]
        alike = known if role == STUDENT else [each for each in known if not each.held_out]
        turns = sum(played.turns for played in alike)
        return total_load(_role_in(each, role) for each in alike).times(1 / turns) if turns else None


def load_of(played: PastTrial) -> UsageEstimate:
    """Return the usage of a trial."""
    return UsageEstimate.of(played.usage, played.seconds)


def _role_in(played: PastTrial, role: str) -> UsageEstimate:
    """Return the usage of a role; the time of the conversation is the student's, the time after it the learner's."""
    if role == STUDENT:
        return load_of(played)
    usage = played.roles.get(role, Usage())
    if played.seconds is None:  # replayed: as long as calls usually take
        return UsageEstimate.of(usage)
    return UsageEstimate.of(usage, played.learning_seconds if role == "learner" else 0.0)


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
    return f"assumed: {SECONDS_PER_SOLUTION:g} s per solution"
