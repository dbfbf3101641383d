"""What has come of learning: success along the stream, how the playbook was used, and the student before and after."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import ceil, comb
from typing import Any, Self

from pytest_crmeval.domain.interval import wilson
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.domain.specs import asked
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill, total
from pytest_crmeval.report.metrics import SCORED

WINDOWS, SMALLEST = 10, 5
"""How many windows a stream is looked at in, unless they would be smaller than this."""
_COUNTED = ("late", "known", "learnt_from")
_SECONDS = ("seconds_to_play", "seconds_to_learn")
LEARNING = ("reward", "arbiter", "learner")
"""Roles that are asked after a conversation, for later ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many of some conversations passed."""

    passed: int = 0
    scored: int = 0

    @property
    def rate(self) -> float | None:
        """The share; None if none was scored."""
        return self.passed / self.scored if self.scored else None

    def to_dict(self) -> JsonObject:
        """Return JSON primitives, with what follows from them."""
        interval = wilson(self.passed, self.scored)
        return {
            "passed": self.passed,
            "scored": self.scored,
            **({"rate": round(self.passed / self.scored, 6), "interval": list(interval)} if interval else {}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the share that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        return cls(passed=int(record["passed"]), scored=int(record["scored"]))

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> Self:
        """Return the share of those that were scored."""
        scored = [trial.passed for trial in trials if trial.verdict in SCORED]
        return cls(passed=sum(scored), scored=len(scored))


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Some conversations of a stream, one after the other."""

    first: int
    last: int
    share: Share

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {"first": self.first, "last": self.last, **self.share.to_dict()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the window that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        return cls(first=int(record["first"]), last=int(record["last"]), share=Share.from_dict(record))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The student with his frozen playbook against the student alone, on cases that both have played, held out."""

    alone: str
    """Whom the student alone is called."""
    both: int = 0
    only_frozen: int = 0
    only_alone: int = 0
    neither: int = 0

    @property
    def frozen_share(self) -> Share:
        """Of the student with his playbook."""
        return Share(passed=self.both + self.only_frozen, scored=self.cases)

    @property
    def alone_share(self) -> Share:
        """Of the student without."""
        return Share(passed=self.both + self.only_alone, scored=self.cases)

    @property
    def cases(self) -> int:
        """How many both have played."""
        return self.both + self.only_frozen + self.only_alone + self.neither

    @property
    def p_value(self) -> float:
        """How likely so one-sided a difference, or a greater one, would be by chance: McNemar's exact test."""
        odd, fewer = self.only_frozen + self.only_alone, min(self.only_frozen, self.only_alone)
        return min(1.0, 2 * sum(comb(odd, k) for k in range(fewer + 1)) / 2**odd) if odd else 1.0

    def to_dict(self) -> JsonObject:
        """Return JSON primitives, with what follows from them."""
        counts = {name: getattr(self, name) for name in self.__slots__}
        shares = {"with_playbook": self.frozen_share.to_dict(), "without": self.alone_share.to_dict()}
        return {**counts, **shares, "p_value": round(self.p_value, 6)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the comparison that ``to_dict`` wrote; KeyError or TypeError if it did not."""
        return cls(**{name: record[name] for name in cls.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """What has come of learning, for one subject in one suite."""

    learning: str
    mode: str
    student: str
    stream: Share = field(default_factory=Share)
    """Of all that it has learnt from, or would have."""
    windows: Sequence[Window] = ()
    halves: Sequence[Window] = ()
    late: int = 0
    """Conversations that were played after one that comes behind them: they had errored before."""
    known: int = 0
    """Conversations that the playbook it began with was learnt from, in another run: their success is no news."""
    held_out: Share | None = None
    """Of what it was measured with; None if there was nothing."""
    measured_after: Sequence[int] = ()
    """After how many conversations the playbook was that it was measured with; more than one: it was resumed."""
    comparison: Comparison | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    """Cue hits, adoptions and those that the CRM refused; entries added, dropped, refused; rewards arbitrated."""
    reviews: Mapping[str, int] = field(default_factory=dict)
    intervened: Share = field(default_factory=Share)
    """Of conversations in which the teacher did not let something pass."""
    not_intervened: Share = field(default_factory=Share)
    roles: Mapping[str, Bill] = field(default_factory=dict)
    learnt_from: int = 0
    """How many conversations the playbook is made of."""
    seconds_to_play: float = 0.0
    """Of all conversations, added up."""
    seconds_to_learn: float = 0.0
    """What came after them."""

    @property
    def is_measured_early(self) -> bool:
        """Whether something was learnt after it was measured."""
        return any(after != self.learnt_from for after in self.measured_after)

    @property
    def cost_to_play(self) -> float | None:
        """Dollars of those who play; None if a price is not known."""
        return _cost(bill for role, bill in self.roles.items() if role not in LEARNING)

    @property
    def cost_to_learn(self) -> float | None:
        """Dollars of those who learn from it."""
        return _cost(bill for role, bill in self.roles.items() if role in LEARNING)

    @property
    def cost_per_success(self) -> float | None:
        """Dollars, learning included, for each conversation that passed; None if unknown, or if none did."""
        passed = self.stream.passed + (self.held_out.passed if self.held_out else 0)
        cost = _cost(self.roles.values())
        return None if cost is None or not passed else round(cost / passed, 8)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives, with what follows from them."""
        costs = {name: getattr(self, name) for name in ("cost_to_play", "cost_to_learn", "cost_per_success")}
        return {
            **{name: getattr(self, name) for name in ("learning", "mode", "student")},
            "stream": self.stream.to_dict(),
            "windows": [window.to_dict() for window in self.windows],
            "halves": [window.to_dict() for window in self.halves],
            **{name: getattr(self, name) for name in _COUNTED},
            **({"held_out": self.held_out.to_dict()} if self.held_out else {}),
            **({"measured_after": list(self.measured_after)} if self.measured_after else {}),
            **({"comparison": self.comparison.to_dict()} if self.comparison else {}),
            "counts": dict(self.counts),
            "reviews": dict(self.reviews),
            "intervened": self.intervened.to_dict(),
            "not_intervened": self.not_intervened.to_dict(),
            "roles": {role: bill.to_dict() for role, bill in self.roles.items()},
            **{name: cost for name, cost in costs.items() if cost is not None},
            **{name: round(getattr(self, name), 6) for name in _SECONDS},
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return what ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        found: dict[str, Any] = {name: str(record[name]) for name in ("learning", "mode", "student")}
        found |= {name: Share.from_dict(record[name]) for name in ("stream", "intervened", "not_intervened")}
        found |= {name: int(record.get(name, 0)) for name in _COUNTED}
        found |= {name: float(record.get(name, 0.0)) for name in _SECONDS}
        found |= {name: tuple(map(Window.from_dict, record[name])) for name in ("windows", "halves")}
        found |= {name: {str(key): int(count) for key, count in record[name].items()} for name in ("counts", "reviews")}
        return cls(
            **found,
            held_out=Share.from_dict(record["held_out"]) if "held_out" in record else None,
            measured_after=tuple(map(int, record.get("measured_after", ()))),
            comparison=Comparison.from_dict(record["comparison"]) if "comparison" in record else None,
            roles={str(role): Bill.from_dict(bill) for role, bill in record["roles"].items()},
        )


def learning_of(
    trials: Sequence[Trial],
    others: Mapping[str, Sequence[Trial]],
    order: Mapping[str, int] | None = None,
    met: Collection[str] = (),
) -> Learning | None:
    """Sum up the trials of a subject that may have learnt; ``others`` are those of the other subjects of its suite.

    ``order`` has the place that each case was to be played at, as far as it is known; ``met`` are the fingerprints of
    those that the playbook it began with was learnt from.
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
        stream=Share.of(stream),
        windows=_windows(stream, max(SMALLEST, ceil(len(stream) / WINDOWS))),
        halves=_windows(stream, ceil(len(stream) / 2)) if len(stream) > 1 else (),
        known=0 if lesson.learning == "off" else sum(trial.planned.fingerprint in met for trial in stream),
        late=_late(stream, order or {}),
        held_out=Share.of(held_out) if held_out else None,
        measured_after=tuple(sorted({lesson.position for _, lesson in taught if lesson.held_out})),
        comparison=_comparison(lesson, held_out, others),
        counts=_counts([lesson for _, lesson in taught]),
        reviews=dict(sum((Counter(lesson.reviews) for _, lesson in taught), Counter[str]())),
        intervened=Share.of(trial for trial in reviewed if trial.learning and trial.learning.interventions),
        not_intervened=Share.of(trial for trial in reviewed if trial.learning and not trial.learning.interventions),
        roles=_roles(trials),
        learnt_from=sum(lesson.learns for _, lesson in taught),
        seconds_to_play=sum(trial.seconds for trial, _ in taught),
        seconds_to_learn=sum(trial.learning_seconds for trial, _ in taught),
    )


def _late(stream: Sequence[Trial], order: Mapping[str, int]) -> int:
    """Return how many were played behind one that has a greater number; who does not learn plays in any order."""
    learnt_from = [trial.planned.key for trial in stream if trial.lesson and trial.lesson.learns]
    places = [order[key] for key in learnt_from if key in order]
    return sum(place < furthest for place, furthest in zip(places, accumulate(places, max), strict=True))


def _windows(stream: Sequence[Trial], size: int) -> Sequence[Window]:
    starts = range(0, len(stream), size) if size else ()
    return tuple(
        Window(first=start + 1, last=min(start + size, len(stream)), share=Share.of(stream[start : start + size]))
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


def _comparison(lesson: Lesson, held_out: Sequence[Trial], others: Mapping[str, Sequence[Trial]]) -> Comparison | None:
    """Return how the student does with and without what was learnt; None if he has not played alone what he could."""
    mine = {t.planned.case: t.passed for t in held_out if _is_first(t)}
    if lesson.learning == "off" or not mine:
        return None
    for subject, trials in others.items():
        theirs = {t.planned.case: t.passed for t in trials if _is_first(t) and _is_alone(t, lesson.student)}
        if shared := mine.keys() & theirs.keys():
            pairs = Counter((mine[case], theirs[case]) for case in shared)
            return Comparison(
                alone=subject,
                both=pairs[True, True],
                only_frozen=pairs[True, False],
                only_alone=pairs[False, True],
                neither=pairs[False, False],
            )
    return None


def _is_first(trial: Trial) -> bool:
    """Whether a trial may be one of a pair: repeats of a case are not independent of its first."""
    return trial.verdict in SCORED and trial.planned.trial == 1


def _is_alone(trial: Trial, student: str) -> bool:
    """Whether a trial was played by the student's model, and nothing else."""
    lesson = trial.learning
    if lesson is None:
        return asked(trial.planned.spec) == asked(student)
    return (lesson.learning, lesson.mode, asked(lesson.student)) == ("off", "solo", asked(student))


def _roles(trials: Sequence[Trial]) -> Mapping[str, Bill]:
    names = dict.fromkeys(role for trial in trials for role in trial.roles)
    bills = {role: total(trial.roles.get(role) for trial in trials) for role in names}
    if not names and (whole := total(trial.bill for trial in trials)):
        return {"student": whole}
    return {role: bill for role, bill in bills.items() if bill}


def _cost(bills: Iterable[Bill]) -> float | None:
    whole = total(bills)
    return round(whole.cost, 8) if whole and whole.cost is not None else None if whole else 0.0
