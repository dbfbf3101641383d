"""A run held against another, case by case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from pytest_crmeval.domain.figures import Figure, Figures, figures_from
from pytest_crmeval.domain.json import JsonObject

SCHEMA = "crmeval.comparison/1"
LISTS = (
    "newly_failing",
    "newly_passing",
    "passes_less_often",
    "passes_more_often",
    "changed",
    "new",
    "gone",
    "unscored",
)
"""What cases are told apart by; a case is in one list at most."""
FEWEST = 6
"""Cases that differ, all in one direction, below which no exact test at 5 % finds anything: 2 · 0.5⁵ is 0.0625."""
_NUMBERS = ("before", "after", "p", "p_holm", "detectable")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChange:
    """A case that is not the same in both runs."""

    case: str
    before: float | None = None
    """Share of its trials that passed in the baseline; None if it was not scored there."""
    after: float | None = None
    reason: str = ""
    """Why it fails now; for what is in one run only, or has changed, empty unless it fails."""

    @property
    def shares(self) -> str:
        """How often it passed and passes, where repeats make that no verdict; else nothing."""
        known = self.before is not None and self.after is not None
        return f"{self.before:.2f} to {self.after:.2f}" if known and {self.before, self.after} - {0.0, 1.0} else ""

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; what is not known is absent."""
        shares = {"before": self.before, "after": self.after}
        known: JsonObject = {name: share for name, share in shares.items() if share is not None}
        return {"case": self.case, **known, **({"reason": self.reason} if self.reason else {})}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the change that ``to_dict`` wrote; KeyError if it did not."""
        return cls(
            case=record["case"],
            before=record.get("before"),
            after=record.get("after"),
            reason=record.get("reason", ""),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """One subject in one suite, against the baseline: over the cases that both have scored with the same content."""

    suite: str
    subject: str
    baseline_subject: str
    """The same name, unless two subjects are compared."""
    paired: int = 0
    """Cases that both have; repeats are averaged and are no further cases."""
    before: float | None = None
    """Pass rate of the baseline over the paired cases."""
    after: float | None = None
    difference: Figure | None = None
    """Of the pass rate, after less before, with its 95 % interval."""
    better: int = 0
    """Paired cases that pass more often now."""
    worse: int = 0
    p: float | None = None
    """How likely such a difference is by chance: exact McNemar; with repeats a permutation of signs."""
    p_holm: float | None = None
    """The same, corrected for all contrasts of the comparison."""
    test: str = ""
    """Which of the two."""
    detectable: float | None = None
    """The least difference that so many cases would show in four of five runs."""
    scores: Figures = field(default_factory=dict)
    """Score -> its mean difference, by paired bootstrap."""
    newly_failing: Sequence[CaseChange] = ()
    """Cases that fail now and never failed in the baseline."""
    newly_passing: Sequence[CaseChange] = ()
    """Cases that pass now and never passed in the baseline."""
    passes_less_often: Sequence[CaseChange] = ()
    """Cases with several trials that pass less or more often than in the baseline."""
    passes_more_often: Sequence[CaseChange] = ()
    changed: Sequence[CaseChange] = ()
    """Cases whose content is another one: not paired."""
    new: Sequence[CaseChange] = ()
    gone: Sequence[CaseChange] = ()
    unscored: Sequence[CaseChange] = ()
    """Cases that errored, are invalid or were not run in one of the two: not paired."""

    @property
    def is_tested(self) -> bool:
        """Whether so many cases could show anything at all: fewer never do, and need no correction, either."""
        return self.p is not None and self.paired >= FEWEST

    @property
    def significant(self) -> bool:
        """Whether the difference is more than chance would make, at 5 %, corrected."""
        return self.p_holm is not None and self.p_holm < 0.05  # noqa: PLR2004 (the usual level)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; what is not known is absent."""
        found = {name: getattr(self, name) for name in _NUMBERS}
        return {
            "suite": self.suite,
            "subject": self.subject,
            "baseline_subject": self.baseline_subject,
            "paired": self.paired,
            "better": self.better,
            "worse": self.worse,
            **{name: value for name, value in found.items() if value is not None},
            **({"difference": self.difference.to_dict()} if self.difference else {}),
            **({"test": self.test} if self.test else {}),
            "scores": {name: figure.to_dict() for name, figure in self.scores.items()},
            **{name: [change.to_dict() for change in getattr(self, name)] for name in LISTS},
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the contrast that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        told: dict[str, Any] = {name: record.get(name) for name in _NUMBERS}
        told |= {name: tuple(map(CaseChange.from_dict, record.get(name, ()))) for name in LISTS}
        told |= {name: record[name] for name in ("suite", "subject", "baseline_subject", "paired", "better", "worse")}
        difference = Figure.from_dict(record["difference"]) if "difference" in record else None
        return cls(difference=difference, test=record.get("test", ""), scores=figures_from(record["scores"]), **told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A run against a baseline: one contrast per suite and subject that both have."""

    baseline: JsonObject
    """Of the other run: ``id``, ``started``, ``source`` (as it was named), perhaps ``commit``; ``complete``."""
    run: JsonObject
    contrasts: Sequence[Contrast] = ()
    missing: Sequence[str] = ()
    """What only one of the two has: ``crm × gpt-4.1 is only in the baseline``."""

    @property
    def correction(self) -> str:
        """How p-values are corrected; nothing if there is only one."""
        count = sum(contrast.is_tested for contrast in self.contrasts)
        return f"Holm over {count} contrasts" if count > 1 else ""

    @property
    def cautions(self) -> Sequence[str]:
        """What the reader has to know of runs that were not played to their end."""
        told = {
            "this run": (self.run, "gone may only not have been played here"),
            "the baseline": (self.baseline, "new may only not have been played there"),
        }
        return [
            f"{name} is not complete: a case that is {why}"
            for name, (run, why) in told.items()
            if run.get("complete") is False
        ]

    def of(self, suite: str, subject: str) -> Contrast | None:
        """Return the contrast of a subject in a suite; None if the two have none."""
        found = (each for each in self.contrasts if (each.suite, each.subject) == (suite, subject))
        return next(found, None)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {
            "schema": SCHEMA,
            "baseline": dict(self.baseline),
            "run": dict(self.run),
            "contrasts": [contrast.to_dict() for contrast in self.contrasts],
            **({"correction": self.correction} if self.correction else {}),
            **({"missing": list(self.missing)} if self.missing else {}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the comparison that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        return cls(
            baseline=dict(record["baseline"]),
            run=dict(record["run"]),
            contrasts=tuple(map(Contrast.from_dict, record["contrasts"])),
            missing=tuple(record.get("missing", ())),
        )
