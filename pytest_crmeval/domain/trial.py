"""One attempt at one case by one subject."""

from collections.abc import Mapping
from sys import intern
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec.structs import astuple, force_setattr, replace

from pytest_crmeval.domain.answers import AnswerOutcome
from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.explanation import Pen, explanation, plain_lines
from pytest_crmeval.domain.file_outcome import FileOutcome
from pytest_crmeval.domain.interval import unit_of
from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.domain.records import Record, always, plain_json, shared
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.domain.usage import Bill

if TYPE_CHECKING:
    Unwritten = Transcript
else:
    Unwritten = object  # never encoded: msgspec need not know what is in it

SANDBOX = "sandbox:"
"""Prefix of the spec of a checkpoint: it names no agent, but the sandbox that runs the programs."""


class PlannedCase(Record, frozen=True, kw_only=True):
    """A case that this run means to play: the pytest item, and its suite, subject and case."""

    key: str
    """The pytest node id, by which a resumed run recognises its trials."""
    suite: str
    subject: str
    case: str
    fingerprint: str
    spec: str
    """The spec of the agent behind the subject's name."""
    trial: int = 1
    """Number of the attempt at the case; repeats are not further cases."""

    def __post_init__(self) -> None:
        """Share the texts that many cases have in common."""
        force_setattr(self, "suite", intern(str(self.suite)))
        force_setattr(self, "subject", intern(str(self.subject)))
        force_setattr(self, "spec", intern(str(self.spec)))

    def same_as(self, other: "PlannedCase") -> bool:
        """Whether a trial of the one is a trial of the other: the same test, the same content, the same agent."""
        return (self.key, self.fingerprint, self.spec) == (other.key, other.fingerprint, other.spec)


def is_of_checkpoint(planned: PlannedCase) -> bool:
    """Whether the subject is a checkpoint, which is judged by its solution files, not an agent."""
    return planned.spec.startswith(SANDBOX)


class Labels(Record, frozen=True, kw_only=True):
    """What a case is reported by."""

    complexity: str = always("")
    category: str = always("")
    tags: tuple[str, ...] = always(())
    split: str = ""
    chain: str = ""
    """What the case is a part of: cases of one chain are not independent of each other."""

    def __post_init__(self) -> None:
        """Share the texts that many cases have in common."""
        for name in ("complexity", "category", "split"):
            force_setattr(self, name, intern(str(getattr(self, name))))
        force_setattr(self, "tags", shared(tuple(map(intern, self.tags))))


Tallies = Mapping[str, tuple[int, int]]
"""Name of a metric -> how many, of how many: ``pass@1`` -> (82, 164). They add up over trials, and become figures."""


class TurnOutcome(Record, frozen=True, kw_only=True):
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


_NO_TRANSCRIPT = Transcript()
_NOTHING: Mapping[str, Any] = MappingProxyType({})
"""Shared defaults for fields that most trials don't use."""


class Trial(Record, frozen=True, kw_only=True):
    """How one case went for one subject."""

    planned: PlannedCase
    verdict: Verdict
    scores: tuple[Score, ...] = always(())
    reason: str = always("")
    """What broke, when the verdict is ERRORED; what is wrong with the case, when it is INVALID."""
    seconds: float = always(0.0)
    labels: Labels = always(Labels())
    turns: tuple[TurnOutcome, ...] = always(())
    answer: AnswerOutcome | None = None
    """How the question was answered; None for other cases."""
    solutions: FileOutcome | None = None
    """How the solutions were judged; None for other cases than solution files."""
    bill: Bill | None = None
    """What the subject took; None if it asked no model through us."""
    roles: Mapping[str, Bill] = _NOTHING
    """What each of several models that make up the subject took, by its role; they add up to the bill."""
    learning: Lesson | None = None
    """What an agent that learns took from it; None for other agents."""
    learning_seconds: float = 0
    """How long it took to learn from it, after the conversation; not in ``seconds``."""
    judgement: Judgement | None = None
    """The opinion of the judge; None if there is no judge."""
    notes: tuple[str, ...] = ()
    """What the reader has to know: for example a setting that the model refused."""
    tallies: Tallies = _NOTHING
    """Figures of its own kind."""
    transcript: Unwritten = _NO_TRANSCRIPT
    """The dialogue, in the process that played it; it is not a part of the JSON form."""
    colored: bool = False
    """Whether the explanation is for a terminal with colours; it is not a part of the JSON form."""

    def __post_init__(self) -> None:
        """Keep what can be written, and share what many trials have in common: a large run has many of them."""
        for name, value in (
            ("scores", tuple(score if score.reason else shared(score) for score in self.scores)),
            ("reason", self.reason and printable(self.reason)),
            ("seconds", round(self.seconds, 6)),
            ("labels", shared(self.labels)),
            ("turns", tuple(map(shared, self.turns))),
            ("learning_seconds", round(self.learning_seconds, 6) or 0),
            ("roles", self.roles or _NOTHING),
            ("tallies", self.tallies or _NOTHING),
        ):
            force_setattr(self, name, value)
        if self.bill:
            force_setattr(self, "bill", self.bill.rounded())
        if self.notes:
            force_setattr(self, "notes", tuple(map(printable, self.notes)))

    def __eq__(self, other: object) -> bool:
        """Whether both are written alike; the transcript does not count."""
        return isinstance(other, Trial) and astuple(self)[:-2] == astuple(other)[:-2]

    __hash__ = None  # type: ignore[assignment] # some fields are dicts

    def __repr__(self) -> str:
        """Return what identifies it, on a line."""
        return f"Trial({self.planned!r}, {self.verdict!s}, reason={self.reason!r}, seconds={self.seconds})"

    @classmethod
    def errored(cls, planned: PlannedCase, reason: str, seconds: float = 0.0) -> Self:
        """Return the trial of a case that could not be played because infrastructure failed."""
        return cls(planned=planned, verdict=Verdict.ERRORED, reason=plain_lines(reason), seconds=seconds)

    @classmethod
    def invalid(cls, planned: PlannedCase, reason: str, labels: Labels) -> Self:
        """Return the trial of a case that was not played, because it is impossible to pass."""
        return cls(planned=planned, verdict=Verdict.INVALID, reason=reason, labels=labels)

    @property
    def passed(self) -> bool:
        """Whether the subject did what was asked."""
        return self.verdict is Verdict.PASSED

    @property
    def lesson(self) -> Lesson | None:
        """What counts of what was learnt: nothing of an errored trial, which is played again."""
        return None if self.verdict is Verdict.ERRORED else self.learning

    @property
    def whole_seconds(self) -> float:
        """How long it took, with what was learnt from it."""
        return self.seconds + self.learning_seconds

    @property
    def unit(self) -> str:
        """What trials that are not independent of each other have in common: their chain, else their case."""
        return unit_of(self.planned.case, self.labels.chain)

    def explain(self, *, folded: bool = False) -> str:
        """Return what happened and what went wrong, for people; ``folded``: without the turns that passed."""
        planned, pen = self.planned, Pen(self.colored)
        head = f"{planned.subject} {self.verdict} {planned.case} ({planned.suite}, {self.seconds:.2f} s)"
        scores = ", ".join(f"{score.name} {score.value:.3f}" for score in self.scores)
        lines = [f"{head}: {scores}" if scores else head]
        lines += [self.reason] if self.reason else []
        lines += [_opinion(self.judgement)] if self.judgement else []
        return "\n".join([*lines, *explanation(self.transcript, self.scores, pen, folded=folded)])

    def to_dict(self) -> dict[str, Any]:
        """Return JSON primitives."""
        return plain_json(flat(self))  # type: ignore[no-any-return] # an object

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], plan: Mapping[str, PlannedCase] | None = None) -> Self:
        """Return the trial that ``to_dict`` wrote; TypeError or ValueError if the record is invalid.

        If ``plan`` has the same case under its key, the trial shares that object instead of a copy.
        """
        trial = msgspec.convert({**record, "planned": record}, cls)
        if plan and plan.get(trial.planned.key) == trial.planned:
            force_setattr(trial, "planned", plan[trial.planned.key])
        return trial


def flat(trial: Trial) -> dict[str, Any]:
    """Return what is encoded: the fields of the planned case beside those of the trial, without the transcript."""
    is_bare = trial.transcript is _NO_TRANSCRIPT and not trial.colored
    written = trial if is_bare else replace(trial, transcript=_NO_TRANSCRIPT, colored=False)
    fields: dict[str, Any] = msgspec.to_builtins(written)
    return {**fields.pop("planned"), **fields}


def _opinion(judgement: Judgement) -> str:
    """Return the opinion of the judge, on a line."""
    if judgement.score is None:
        return f"judge: not graded: {judgement.trouble}"
    if judgement.attempt and judgement.grades[0].attempt:
        words = str(judgement.attempt).replace("_", " ")
        return f"judge: {words} ({len(judgement.grades)} opinions): {judgement.score.reason}".removesuffix(": ")
    opinions = f"judge {judgement.score.value:.3f} ({len(judgement.grades)} opinions, {judgement.spread:.3f} apart)"
    return f"{opinions}: {judgement.score.reason}"
