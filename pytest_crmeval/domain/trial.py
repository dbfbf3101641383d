"""One attempt at one case by one subject."""

from collections.abc import Iterable, Mapping
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
from pytest_crmeval.domain.usage import Bill, Service

if TYPE_CHECKING:
    Unwritten = Transcript
else:
    Unwritten = object  # never encoded, so msgspec needs no type

SANDBOX = "sandbox:"
"""Prefix of the spec of a checkpoint: it names no agent, but the sandbox that runs the programs."""


class PlannedCase(Record, frozen=True, kw_only=True):
    """A case that this run will play: the pytest item, and its suite, subject and case."""

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
    folder: str = ""
    """The folder of the checkpoint; empty for cases that are not solution files."""

    def __post_init__(self) -> None:
        """Share the texts that many cases have in common."""
        force_setattr(self, "suite", intern(str(self.suite)))
        force_setattr(self, "subject", intern(str(self.subject)))
        force_setattr(self, "spec", intern(str(self.spec)))

    def same_as(self, other: "PlannedCase") -> bool:
        """Whether both have the same test, content and agent, so that a trial of one is a trial of the other."""
        return (self.key, self.fingerprint, self.spec) == (other.key, other.fingerprint, other.spec)


def is_of_checkpoint(planned: PlannedCase) -> bool:
    """Whether the subject is a checkpoint, which is evaluated by its solution files, not an agent."""
    return planned.spec.startswith(SANDBOX)


class Labels(Record, frozen=True, kw_only=True):
    """The labels of a case, by which reports group trials."""

    complexity: str = always("")
    category: str = always("")
    tags: tuple[str, ...] = always(())
    split: str = ""
    chain: str = ""
    """The chain that the case belongs to; cases of one chain are not independent of each other."""

    def __post_init__(self) -> None:
        """Share the texts that many cases have in common."""
        for name in ("complexity", "category", "split"):
            force_setattr(self, name, intern(str(getattr(self, name))))
        force_setattr(self, "tags", shared(tuple(map(intern, self.tags))))


Tallies = Mapping[str, tuple[int, int]]
"""Name of a metric -> hits and total: ``pass@1`` -> (82, 164). Reports add them up over trials."""


class TurnOutcome(Record, frozen=True, kw_only=True):
    """How one turn of a conversation went."""

    tool: str
    """The tool of the expected call, or of the first of several; empty if no call is expected."""
    called: bool
    """Whether the calls were right."""
    replied: bool
    """Whether the reply was right."""
    steps: int
    """Number of calls of the agent."""
    errors: int
    """Calls that the CRM refused although the case does not expect it."""

    @property
    def passed(self) -> bool:
        """Whether both calls and reply were right."""
        return self.called and self.replied

    @property
    def recovered(self) -> int:
        """Refused calls that the agent made up for within the turn."""
        return self.errors if self.passed else 0


_NO_TRANSCRIPT = Transcript()
_NOTHING: Mapping[str, Any] = MappingProxyType({})
"""Shared defaults for fields that most trials don't use."""


class Trial(Record, frozen=True, kw_only=True):
    """The result of one case for one subject."""

    planned: PlannedCase
    verdict: Verdict
    scores: tuple[Score, ...] = always(())
    reason: str = always("")
    """The failure if the verdict is ERRORED; the defect of the case if it is INVALID."""
    seconds: float = always(0.0)
    labels: Labels = always(Labels())
    turns: tuple[TurnOutcome, ...] = always(())
    answer: AnswerOutcome | None = None
    """The outcome of a question; None for other cases."""
    solutions: FileOutcome | None = None
    """The results of a solution file; None for other cases."""
    bill: Bill | None = None
    """Usage and cost of the subject; None if it called no model through pytest-crmeval."""
    simulator: Bill | None = None
    """Usage and cost of the simulated user; None if there is none. It is not part of the subject's bill."""
    roles: Mapping[str, Bill] = _NOTHING
    """Usage and cost by role, if the subject consists of several models; they add up to the bill."""
    learning: Lesson | None = None
    """The lesson of an agent that learns; None for other agents."""
    learning_seconds: float = 0
    """Duration of learning after the conversation; not in ``seconds``."""
    judgement: Judgement | None = None
    """The opinion of the judge; None if there is no judge."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader, for example about a setting that the model rejected."""
    service: Service | None = None
    """How fast the models answered; None if no model was called through pytest-crmeval, or only a cassette."""
    models: tuple[str, ...] = ()
    """The models that the subject called through pytest-crmeval: provider:model."""
    tallies: Tallies = _NOTHING
    """Counts of metrics that only this kind of case has."""
    transcript: Unwritten = _NO_TRANSCRIPT
    """The dialogue, in the process that played it; not part of the JSON form."""
    colored: bool = False
    """Whether the explanation is for a terminal with colours; not part of the JSON form."""

    def __post_init__(self) -> None:
        """Convert values to what can be stored, and share equal ones: a large run has many trials."""
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
        if self.simulator:
            force_setattr(self, "simulator", self.simulator.rounded())
        if self.notes:
            force_setattr(self, "notes", tuple(map(printable, self.notes)))

    def __eq__(self, other: object) -> bool:
        """Whether both have the same JSON form; transcripts are not compared."""
        return isinstance(other, Trial) and astuple(self)[:-2] == astuple(other)[:-2]

    __hash__ = None  # type: ignore[assignment] # some fields are dicts

    def __repr__(self) -> str:
        """Return a short form without scores and transcript."""
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
        """Whether the verdict is PASSED."""
        return self.verdict is Verdict.PASSED

    @property
    def lesson(self) -> Lesson | None:
        """The lesson that counts; None for an errored trial, which is played again."""
        return None if self.verdict is Verdict.ERRORED else self.learning

    @property
    def whole_seconds(self) -> float:
        """Duration including learning."""
        return self.seconds + self.learning_seconds

    @property
    def unit(self) -> str:
        """The independent unit of the trial: its chain, or else its case."""
        return unit_of(self.planned.case, self.labels.chain)

    def explain(self, *, folded: bool = False) -> str:
        """Return the dialogue and its faults as text; ``folded``: without the turns that passed."""
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
        """Return the trial that ``to_dict`` wrote. Raises TypeError or ValueError if the record is invalid.

        If ``plan`` has the same case under its key, the trial shares that object instead of a copy.
        """
        trial = msgspec.convert({**record, "planned": record}, cls)
        if plan and plan.get(trial.planned.key) == trial.planned:
            force_setattr(trial, "planned", plan[trial.planned.key])
        return trial


def flat(trial: Trial) -> dict[str, Any]:
    """Return the JSON form: the fields of the planned case and of the trial in one object, without the transcript."""
    is_bare = trial.transcript is _NO_TRANSCRIPT and not trial.colored
    written = trial if is_bare else replace(trial, transcript=_NO_TRANSCRIPT, colored=False)
    fields: dict[str, Any] = msgspec.to_builtins(written)
    return {**fields.pop("planned"), **fields}


def _opinion(judgement: Judgement) -> str:
    """Return the opinion of the judge as one line."""
    if not judgement.is_graded:
        return f"judge: not graded: {judgement.trouble}"
    opinions = f"{len(judgement.grades)} opinions"
    if not judgement.statements:
        words = str(judgement.attempt).replace("_", " ")
        return f"judge: {words} ({opinions}): {judgement.reason}".removesuffix(": ")
    found = judgement.false_statements
    false = "".join(f'\n  turn {each.turn}: "{each.quote}" is false: {reason}' for each, reason in found)
    only = "" if judgement.may_decide or not found else f"; only reported: {judgement.restriction}"
    return (
        f"judge: {len(found)} of {len(judgement.statements)} undecided statements are false ({opinions}){only}{false}"
    )


def in_order(trials: Iterable[Trial]) -> list[Trial]:
    """Return trials by suite, subject, case and repeat."""
    return sorted(trials, key=_place)


def _place(trial: Trial) -> tuple[str, str, str, int, str]:
    planned = trial.planned
    return planned.suite, planned.subject, planned.case, planned.trial, planned.key
