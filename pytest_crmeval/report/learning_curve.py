"""Results of learning: success along the stream, use of the playbook, and the student with and without it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from math import ceil, comb
from typing import Any, Self

from msgspec.structs import force_setattr

from pytest_crmeval.domain.interval import Interval, wilson
from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.domain.records import Record, always
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill, total
from pytest_crmeval.journal.history import relevant_spec
from pytest_crmeval.report.metrics import SCORED

WINDOWS, SMALLEST = 10, 5
"""Number of windows of a stream, unless they would be smaller than this."""
_NOTHING: Mapping[str, Any] = {}
LEARNING = ("reward", "arbiter", "learner")
"""Roles that are called after a conversation, for the benefit of later ones."""


class PassShare(Record, frozen=True, kw_only=True):
    """How many of some conversations passed."""

    passed: int = always(0)
    scored: int = always(0)
    rate: float | None = None
    """The share; None if none was scored. Computed."""
    interval: Interval | None = None
    """Its 95 % interval; computed."""

    def __post_init__(self) -> None:
        """Compute what follows from the counts."""
        force_setattr(self, "rate", round(self.passed / self.scored, 6) if self.scored else None)
        force_setattr(self, "interval", wilson(self.passed, self.scored))

    @classmethod
    def of(cls, trials: Iterable[Trial], **others: Any) -> Self:  # noqa: ANN401 (further fields)
        """Return the share of scored trials that passed."""
        scored = [trial.passed for trial in trials if trial.verdict in SCORED]
        return cls(passed=sum(scored), scored=len(scored), **others)


class Window(PassShare, frozen=True, kw_only=True):
    """Some conversations of a stream, one after the other, and how many of them passed."""

    first: int
    last: int


class PlaybookEffect(Record, frozen=True, kw_only=True):
    """The student with and without its frozen playbook, on held-out cases that both have played."""

    alone: str
    """Name of the subject that is the student without a playbook."""
    both: int = always(0)
    only_frozen: int = always(0)
    only_alone: int = always(0)
    neither: int = always(0)
    with_playbook: PassShare = always(PassShare())
    """Of the student with its playbook; computed."""
    without: PassShare = always(PassShare())
    """Of the student without; computed."""
    p_value: float = always(1.0)
    """McNemar's exact test; computed."""

    @property
    def cases(self) -> int:
        """How many both have played."""
        return self.both + self.only_frozen + self.only_alone + self.neither

    def __post_init__(self) -> None:
        """Compute what follows from the counts."""
        odd, fewer = self.only_frozen + self.only_alone, min(self.only_frozen, self.only_alone)
        p_value = min(1.0, 2 * sum(comb(odd, k) for k in range(fewer + 1)) / 2**odd) if odd else 1.0
        force_setattr(self, "with_playbook", PassShare(passed=self.both + self.only_frozen, scored=self.cases))
        force_setattr(self, "without", PassShare(passed=self.both + self.only_alone, scored=self.cases))
        force_setattr(self, "p_value", round(p_value, 6))


class Learning(Record, frozen=True, kw_only=True):
    """Results of learning for one subject in one suite."""

    learning: str
    mode: str
    student: str
    stream: PassShare = always(PassShare())
    """Of all conversations that it learned from, or would have."""
    windows: tuple[Window, ...] = always(())
    halves: tuple[Window, ...] = always(())
    late: int = always(0)
    """Conversations that were played after a later one, because they had errored before."""
    known: int = always(0)
    """Conversations that its first playbook was learned from, in another run: their success is not evidence."""
    held_out: PassShare | None = None
    """Of the held-out conversations; None if there were none."""
    measured_after: tuple[int, ...] = ()
    """Number of conversations behind the playbooks that it was measured with; several if the run was resumed."""
    comparison: PlaybookEffect | None = None
    counts: Mapping[str, int] = always(_NOTHING)
    """Cue hits, adoptions, and adoptions that the CRM refused; entries added, dropped, refused; rewards arbitrated."""
    reviews: Mapping[str, int] = always(_NOTHING)
    intervened: PassShare = always(PassShare())
    """Of conversations in which the teacher intervened."""
    not_intervened: PassShare = always(PassShare())
    roles: Mapping[str, Bill] = always(_NOTHING)
    learnt_from: int = always(0)
    """Number of conversations that the playbook was learned from."""
    seconds_to_play: float = always(0.0)
    """The sum over all conversations."""
    seconds_to_learn: float = always(0.0)
    """The sum of the time after each conversation."""

    cost_to_play: float | None = None
    """Dollars of the models that play; None if a price is unknown. Computed."""
    cost_to_learn: float | None = None
    """Dollars of the models that learn; computed."""
    cost_per_success: float | None = None
    """Dollars, learning included, for each conversation that passed; None if unknown, or if none did. Computed."""

    def __post_init__(self) -> None:
        """Compute costs, and round times."""
        passed = self.stream.passed + (self.held_out.passed if self.held_out else 0)
        cost = _cost(self.roles.values())
        for name, value in (
            ("seconds_to_play", round(self.seconds_to_play, 6)),
            ("seconds_to_learn", round(self.seconds_to_learn, 6)),
            ("cost_to_play", _cost(bill for role, bill in self.roles.items() if role not in LEARNING)),
            ("cost_to_learn", _cost(bill for role, bill in self.roles.items() if role in LEARNING)),
            ("cost_per_success", None if cost is None or not passed else round(cost / passed, 8)),
        ):
            force_setattr(self, name, value)

    @property
    def is_measured_early(self) -> bool:
        """Whether something was learned after the measurement."""
        return any(after != self.learnt_from for after in self.measured_after)


def learning_of(
    trials: Sequence[Trial],
    others: Mapping[str, Sequence[Trial]],
    order: Mapping[str, int] | None = None,
    met: Collection[str] = (),
) -> Learning | None:
    """Summarise the trials of a subject that may have learned; ``others`` are those of the other subjects of its suite.

    ``order`` has the planned place of each case, as far as it is known; ``met`` are the fingerprints of the cases that
    its first playbook was learned from.
    """
    taught = [(trial, trial.lesson) for trial in trials if trial.lesson]
    if not taught:
        return None
    lesson = taught[0][1]
    stream = [trial for trial, lesson in sorted(taught, key=lambda pair: pair[1].position) if not lesson.held_out]
    held_out = [trial for trial, lesson in taught if lesson.held_out]
    reviewed = [trial for trial, lesson in taught if lesson.reviews]
    return Learning(
        learning=stream[0].learning.learning if stream and stream[0].learning else lesson.learning,
        mode=stream[0].learning.mode if stream and stream[0].learning else lesson.mode,
        student=lesson.student,
        stream=PassShare.of(stream),
        windows=_windows(stream, max(SMALLEST, ceil(len(stream) / WINDOWS))),
        halves=_windows(stream, ceil(len(stream) / 2)) if len(stream) > 1 else (),
        known=0 if lesson.learning == "off" else sum(trial.planned.fingerprint in met for trial in stream),
        late=_late(stream, order or {}),
        held_out=PassShare.of(held_out) if held_out else None,
        measured_after=tuple(sorted({lesson.position for _, lesson in taught if lesson.held_out})),
        comparison=_comparison(lesson, held_out, others),
        counts=_counts([lesson for _, lesson in taught]),
        reviews=dict(sum((Counter(lesson.reviews) for _, lesson in taught), Counter[str]())),
        intervened=PassShare.of(trial for trial in reviewed if trial.learning and trial.learning.interventions),
        not_intervened=PassShare.of(trial for trial in reviewed if trial.learning and not trial.learning.interventions),
        roles=_roles(trials),
        learnt_from=sum(lesson.learns for _, lesson in taught),
        seconds_to_play=sum(trial.seconds for trial, _ in taught),
        seconds_to_learn=sum(trial.learning_seconds for trial, _ in taught),
    )


def _late(stream: Sequence[Trial], order: Mapping[str, int]) -> int:
    """Return how many were played after a later case; only cases that are learned from have an order."""
    learnt_from = [trial.planned.key for trial in stream if trial.lesson and trial.lesson.learns]
    places = [order[key] for key in learnt_from if key in order]
    return sum(place < furthest for place, furthest in zip(places, accumulate(places, max), strict=True))


def _windows(stream: Sequence[Trial], size: int) -> tuple[Window, ...]:
    starts = range(0, len(stream), size) if size else ()
    return tuple(
        Window.of(stream[start : start + size], first=start + 1, last=min(start + size, len(stream)))
        for start in starts
    )


def _counts(lessons: Sequence[Lesson]) -> dict[str, int]:
    uses = [use for lesson in lessons for use in lesson.uses.values()]
    return {
        "cue_hits": sum(use.hits for use in uses),
        "adoptions": sum(use.adoptions for use in uses),
        "failed_adoptions": sum(use.failures for use in uses),
        "added": sum(len(lesson.added) for lesson in lessons),
        "dropped": sum(len(lesson.dropped) for lesson in lessons),
        "refused": sum(len(lesson.refused) for lesson in lessons),
        "rewards": sum(lesson.reward is not None for lesson in lessons),
        "arbitrated": sum(lesson.reward is not None and lesson.reward.arbiter is not None for lesson in lessons),
    }


def _comparison(
    lesson: Lesson, held_out: Sequence[Trial], others: Mapping[str, Sequence[Trial]]
) -> PlaybookEffect | None:
    """Return the effect of the playbook; None if the student has not played the held-out cases alone."""
    mine = {t.planned.case: t.passed for t in held_out if _is_first(t)}
    if lesson.learning == "off" or not mine:
        return None
    for subject, trials in others.items():
        theirs = {t.planned.case: t.passed for t in trials if _is_first(t) and _is_alone(t, lesson.student)}
        if shared := mine.keys() & theirs.keys():
            pairs = Counter((mine[case], theirs[case]) for case in shared)
            return PlaybookEffect(
                alone=subject,
                both=pairs[True, True],
                only_frozen=pairs[True, False],
                only_alone=pairs[False, True],
                neither=pairs[False, False],
            )
    return None


def _is_first(trial: Trial) -> bool:
    """Whether a trial may be one of a pair: only the first, because repeats of a case are not independent."""
    return trial.verdict in SCORED and trial.planned.trial == 1


def _is_alone(trial: Trial, student: str) -> bool:
    """Whether a trial was played by the student's model alone."""
    lesson = trial.learning
    if lesson is None:
        return relevant_spec(trial.planned.spec) == relevant_spec(student)
    return (lesson.learning, lesson.mode, relevant_spec(lesson.student)) == ("off", "solo", relevant_spec(student))


def _roles(trials: Sequence[Trial]) -> Mapping[str, Bill]:
    names = dict.fromkeys(role for trial in trials for role in trial.roles)
    bills = {role: total(trial.roles.get(role) for trial in trials) for role in names}
    if not names and (whole := total(trial.bill for trial in trials)):
        return {"student": whole}
    return {role: bill for role, bill in bills.items() if bill}


def _cost(bills: Iterable[Bill]) -> float | None:
    whole = total(bills)
    return round(whole.cost, 8) if whole and whole.cost is not None else None if whole else 0.0
