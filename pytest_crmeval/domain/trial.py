"""One attempt at one case by one subject."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from pytest_crmeval.domain.json import JsonObject, printable
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.transcript import Transcript


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

    def same_as(self, other: "PlannedCase") -> bool:
        """Whether a trial of the one is a trial of the other: the same test, the same content, the same agent."""
        return (self.key, self.fingerprint, self.spec) == (other.key, other.fingerprint, other.spec)

    def to_dict(self) -> dict[str, str]:
        """Return JSON primitives."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the case that ``to_dict`` wrote; KeyError or TypeError if it did not."""
        return cls(**{name: _text(record[name]) for name in cls.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How one case went for one subject."""

    planned: PlannedCase
    verdict: Verdict
    scores: Sequence[Score] = field(default=(), repr=False)
    reason: str = ""
    """What broke, when the verdict is ERRORED."""
    seconds: float = 0.0
    transcript: Transcript = field(default_factory=Transcript, compare=False, repr=False)
    """Stays in the process that played it."""

    @classmethod
    def errored(cls, planned: PlannedCase, reason: str, seconds: float = 0.0) -> Self:
        """Return the trial of a case that the world did not let be played."""
        return cls(planned=planned, verdict=Verdict.ERRORED, reason=reason, seconds=seconds)

    @property
    def passed(self) -> bool:
        """Whether the subject did what was asked."""
        return self.verdict is Verdict.PASSED

    def explain(self) -> str:
        """Tell a person what happened and where it went wrong."""
        planned = self.planned
        lines = [f"{planned.subject} {self.verdict} {planned.case} ({planned.suite}, {self.seconds:.2f} s)"]
        lines += [f"  {score.name} {score.value:.3f}: {score.reason}" for score in self.scores if not score.passed]
        lines += [self.reason] if self.reason else []
        return "\n".join([*lines, *self.transcript.lines()])

    def to_dict(self) -> JsonObject:
        """Return JSON primitives: the only thing that xdist and disks carry."""
        return {
            **self.planned.to_dict(),
            "verdict": str(self.verdict),
            "scores": [score.to_dict() for score in self.scores],
            "reason": printable(self.reason),
            "seconds": round(self.seconds, 6),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the trial that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        planned = PlannedCase.from_dict(record)
        return cls(
            planned=planned,
            verdict=Verdict(record["verdict"]),
            scores=tuple(Score.from_dict(score) for score in record["scores"]),
            reason=_text(record["reason"]),
            seconds=float(record["seconds"]),
        )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {value!r}")
    return value
