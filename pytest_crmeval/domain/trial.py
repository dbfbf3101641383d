"""One attempt at one case by one subject."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from sys import intern
from typing import Any, Self

from pytest_crmeval.domain.answers import AnswerOutcome
from pytest_crmeval.domain.checkpoints import FileOutcome
from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.explanation import Pen, explanation, plain_lines
from pytest_crmeval.domain.interval import unit_of
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.domain.usage import Bill

_TEXTS = ("key", "suite", "subject", "case", "fingerprint", "spec")
_texts = attrgetter(*_TEXTS)
ALIKE = 4096
"""Maximum number of shared values: trials with equal values share one object, which saves memory in large runs."""


SANDBOX = "sandbox:"
"""What the spec of a checkpoint begins with: nobody is behind it, but its programs run somewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCase:
    """A case that this run means to play: the pytest item, and what it stands for."""

    key: str
    """The pytest node id: what a resumed run recognises its trials by."""
    suite: str
    subject: str
    case: str
    fingerprint: str
    spec: str
    """The spec of the agent behind the subject's name."""
    trial: int = 1
    """Which attempt at the case this is: a repeat is no other case."""

    def same_as(self, other: "PlannedCase") -> bool:
        """Whether a trial of the one is a trial of the other: the same test, the same content, the same agent."""
        return (self.key, self.fingerprint, self.spec) == (other.key, other.fingerprint, other.spec)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; of a case that is tried once, nothing of that."""
        told: JsonObject = dict(zip(_TEXTS, _texts(self), strict=True))
        return {**told, "trial": self.trial} if self.trial > 1 else told

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the case that ``to_dict`` wrote; KeyError or TypeError if it did not."""
        return cls(
            key=_text(record["key"]),
            suite=intern(_text(record["suite"])),
            subject=intern(_text(record["subject"])),
            case=_text(record["case"]),
            fingerprint=_text(record["fingerprint"]),
            spec=intern(_text(record["spec"])),
            trial=_count(record.get("trial", 1)),
        )


def is_of_checkpoint(planned: PlannedCase) -> bool:
    """Whether the subject is a checkpoint, which is judged by its files, and no agent."""
    return planned.spec.startswith(SANDBOX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What a case is reported by."""

    complexity: str = ""
    category: str = ""
    tags: Sequence[str] = ()
    split: str = ""
    chain: str = ""
    """What the case is a part of: cases of one chain are not independent of each other."""

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; a case of no split has none, and one of no chain none."""
        labels = {"complexity": self.complexity, "category": self.category, "tags": list(self.tags)}
        return {**labels, **{name: text for name in ("split", "chain") if (text := getattr(self, name))}}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> "Labels":
        """Return the labels that ``to_dict`` wrote; a case that has none has none."""
        labels = {"complexity": "", "category": "", "split": "", "chain": "", "tags": (), **dict(record)}
        texts = (_text(labels[name]) for name in ("complexity", "category", "split", "chain"))
        return _labels(*texts, tuple(map(_text, labels["tags"])))


@lru_cache(ALIKE)
def _labels(complexity: str, category: str, split: str, chain: str, tags: tuple[str, ...]) -> Labels:
    return Labels(complexity=complexity, category=category, split=split, chain=chain, tags=tags)


Tallies = Mapping[str, tuple[int, int]]
"""Name of a metric -> how many, of how many: ``pass@1`` -> (82, 164). They add up over trials, and become figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """How one turn of a conversation went."""

    tool: str
    """The tool that it is about, of several the first; empty if there was nothing to call."""
    called: bool
    """Whether the CRM was asked as it should have been."""
    replied: bool
    """Whether the reply was right."""
    steps: int
    """How often the agent was asked."""
    errors: int
    """Calls that the CRM refused and should not have had to."""

    @property
    def passed(self) -> bool:
        """Whether all of it was right."""
        return self.called and self.replied

    @property
    def recovered(self) -> int:
        """Refused calls that the agent made up for within the turn."""
        return self.errors if self.passed else 0

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {
            "tool": self.tool,
            "called": self.called,
            "replied": self.replied,
            "steps": self.steps,
            "errors": self.errors,
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> "TurnOutcome":
        """Return the outcome that ``to_dict`` wrote; fields that are not known yet are passed over."""
        return _turn(record["tool"], record["called"], record["replied"], record["steps"], record["errors"])


@lru_cache(ALIKE)
def _turn(tool: str, called: bool, replied: bool, steps: int, errors: int) -> TurnOutcome:  # noqa: FBT001 (its fields)
    return TurnOutcome(tool=tool, called=called, replied=replied, steps=steps, errors=errors)


_NO_TRANSCRIPT = Transcript()
_NOTHING: Mapping[str, Any] = {}
"""Shared defaults for fields that most trials don't use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How one case went for one subject."""

    planned: PlannedCase
    verdict: Verdict
    scores: Sequence[Score] = field(default=(), repr=False)
    reason: str = ""
    """What broke, when the verdict is ERRORED; what is wrong with the case, when it is INVALID."""
    seconds: float = 0.0
    labels: Labels = field(default_factory=Labels)
    turns: Sequence[TurnOutcome] = field(default=(), repr=False)
    answer: AnswerOutcome | None = field(default=None, repr=False)
    """How the question was answered; None if the case is none."""
    solutions: FileOutcome | None = field(default=None, repr=False)
    """How the solutions were judged; None if the case is no solution file."""
    bill: Bill | None = field(default=None, repr=False)
    """What the subject took; None if it asked no model through us."""
    roles: Mapping[str, Bill] = field(default_factory=dict, repr=False)
    """What each of several models that make up the subject took, by its role; they add up to the bill."""
    learning: Lesson | None = field(default=None, repr=False)
    """What an agent that learns took from it; None if it does not."""
    learning_seconds: float = field(default=0.0, repr=False)
    """How long it took to learn from it, when it was over; not in ``seconds``."""
    judgement: Judgement | None = field(default=None, repr=False)
    """What the judge thinks; None if there is no judge."""
    notes: Sequence[str] = field(default=(), repr=False)
    """What the reader has to know: a setting that the model refused, for one."""
    tallies: Tallies = field(default_factory=dict, repr=False)
    """Figures of its own kind."""
    transcript: Transcript = field(default=_NO_TRANSCRIPT, compare=False, repr=False)
    """Stays in the process that played it."""
    colored: bool = field(default=False, compare=False, repr=False)
    """Whether whoever reads the explanation has a terminal with colours."""

    @classmethod
    def errored(cls, planned: PlannedCase, reason: str, seconds: float = 0.0) -> Self:
        """Return the trial of a case that the world did not let be played."""
        return cls(planned=planned, verdict=Verdict.ERRORED, reason=plain_lines(reason), seconds=seconds)

    @classmethod
    def invalid(cls, planned: PlannedCase, reason: str, labels: Labels) -> Self:
        """Return the trial of a case that was not played, because nobody could have passed it."""
        return cls(planned=planned, verdict=Verdict.INVALID, reason=reason, labels=labels)

    @property
    def passed(self) -> bool:
        """Whether the subject did what was asked."""
        return self.verdict is Verdict.PASSED

    @property
    def lesson(self) -> Lesson | None:
        """What counts of what was learnt: what errored is played again, and must not be known by then."""
        return None if self.verdict is Verdict.ERRORED else self.learning

    @property
    def whole_seconds(self) -> float:
        """How long it took, with what was learnt from it."""
        return self.seconds + self.learning_seconds

    @property
    def unit(self) -> str:
        """What trials that are not independent of each other have in common: their chain, else their case."""
        return unit_of(self.planned.case, self.labels.chain)

    def explain(self) -> str:
        """Tell a person what happened and where it went wrong."""
        planned, pen = self.planned, Pen(self.colored)
        head = f"{planned.subject} {self.verdict} {planned.case} ({planned.suite}, {self.seconds:.2f} s)"
        scores = ", ".join(f"{score.name} {score.value:.3f}" for score in self.scores)
        lines = [f"{head}: {scores}" if scores else head]
        lines += [self.reason] if self.reason else []
        lines += [_opinion(self.judgement)] if self.judgement else []
        return "\n".join([*lines, *explanation(self.transcript, self.scores, pen)])

    def to_dict(self) -> JsonObject:
        """Return JSON primitives: the only thing that xdist and disks carry."""
        return {
            **self.planned.to_dict(),
            "verdict": str(self.verdict),
            "scores": [score.to_dict() for score in self.scores],
            "reason": printable(self.reason),
            "seconds": round(self.seconds, 6),
            "labels": self.labels.to_dict(),
            "turns": [turn.to_dict() for turn in self.turns],
            **({"answer": self.answer.to_dict()} if self.answer else {}),
            **({"solutions": self.solutions.to_dict()} if self.solutions else {}),
            **({"bill": self.bill.to_dict()} if self.bill else {}),
            **({"roles": {role: bill.to_dict() for role, bill in self.roles.items()}} if self.roles else {}),
            **({"learning": self.learning.to_dict()} if self.learning else {}),
            **({"learning_seconds": round(self.learning_seconds, 6)} if self.learning_seconds else {}),
            **({"judgement": self.judgement.to_dict()} if self.judgement else {}),
            **({"notes": list(map(printable, self.notes))} if self.notes else {}),
            **({"tallies": {name: list(tally) for name, tally in self.tallies.items()}} if self.tallies else {}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], plan: Mapping[str, PlannedCase] | None = None) -> Self:
        """Return the trial that ``to_dict`` wrote; KeyError, TypeError or ValueError if the record is invalid.

        If ``plan`` has the same case under its key, the trial shares that object instead of a copy.
        """
        planned = PlannedCase.from_dict(record)
        if plan and plan.get(planned.key) == planned:
            planned = plan[planned.key]
        return cls(
            planned=planned,
            verdict=Verdict(record["verdict"]),
            scores=tuple(Score.from_dict(score) for score in record["scores"]),
            reason=_text(record["reason"]),
            seconds=float(record["seconds"]),
            labels=Labels.from_dict(record.get("labels", {})),
            turns=tuple(TurnOutcome.from_dict(turn) for turn in record.get("turns", ())),
            answer=AnswerOutcome.from_dict(record["answer"]) if "answer" in record else None,
            solutions=FileOutcome.from_dict(record["solutions"]) if "solutions" in record else None,
            bill=Bill.from_dict(record["bill"]) if "bill" in record else None,
            roles={str(role): Bill.from_dict(bill) for role, bill in record["roles"].items()}
            if "roles" in record
            else _NOTHING,
            learning=Lesson.from_dict(record["learning"]) if "learning" in record else None,
            learning_seconds=float(record.get("learning_seconds", 0.0)),
            judgement=Judgement.from_dict(record["judgement"]) if "judgement" in record else None,
            notes=tuple(map(_text, record.get("notes", ()))),
            tallies={name: (_count(hits), _count(of)) for name, (hits, of) in record["tallies"].items()}
            if "tallies" in record
            else _NOTHING,
        )


def _opinion(judgement: Judgement) -> str:
    """Say what the judge thinks, in a line."""
    if judgement.score is None:
        return f"judge: not graded: {judgement.trouble}"
    if judgement.attempt and judgement.grades[0].attempt:
        words = str(judgement.attempt).replace("_", " ")
        return f"judge: {words} ({len(judgement.grades)} opinions): {judgement.score.reason}".removesuffix(": ")
    told = f"judge {judgement.score.value:.3f} ({len(judgement.grades)} opinions, {judgement.spread:.3f} apart)"
    return f"{told}: {judgement.score.reason}"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {value!r}")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"expected a count, found {value!r}")
    return value
