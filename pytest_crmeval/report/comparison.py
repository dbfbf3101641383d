"""The comparison of a run with another, case by case."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import force_setattr

from pytest_crmeval.agents import CONTROLS
from pytest_crmeval.domain.records import Record, always
from pytest_crmeval.journal.figures import Figure, Figures

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
"""Kinds of changes; a case is in at most one of these lists."""
_NOTHING: Figures = {}
SIGNIFICANT = 0.05
FEWEST = 6
"""Cases that differ, all in one direction, below which no exact test at 5 % finds anything: 2 · 0.5⁵ is 0.0625."""


class CaseChange(Record, frozen=True, kw_only=True):
    """A case that differs between the two runs."""

    case: str
    before: float | None = None
    """Share of its trials that passed in the baseline; None if it was not scored there."""
    after: float | None = None
    reason: str = ""
    """Why it fails now; empty if it does not."""

    @property
    def shares(self) -> str:
        """How often it passed before and after, if it has repeats; otherwise empty."""
        known = self.before is not None and self.after is not None
        return f"{self.before:.2f} to {self.after:.2f}" if known and {self.before, self.after} - {0.0, 1.0} else ""


class Contrast(Record, frozen=True, kw_only=True):
    """One subject in one suite, compared with the baseline over the cases that both scored with the same content."""

    suite: str
    subject: str
    baseline_subject: str
    """The same name, unless two subjects are compared."""
    paired: int = always(0)
    """Cases that both runs have; repeats are averaged and don't count as more cases."""
    before: float | None = None
    """Pass rate of the baseline over the paired cases."""
    after: float | None = None
    difference: Figure | None = None
    """Of the pass rate, after minus before, with its 95 % interval."""
    better: int = always(0)
    """Paired cases that pass more often now."""
    worse: int = always(0)
    p: float | None = None
    """The p-value: exact McNemar; with repeats, a permutation of signs."""
    p_holm: float | None = None
    """The same, corrected for all contrasts of the comparison."""
    test: str = ""
    """Which of the two."""
    detectable: float | None = None
    """The minimum detectable difference at 80 % power."""
    scores: Figures = always(_NOTHING)
    """Score -> its mean difference, by paired bootstrap."""
    newly_failing: tuple[CaseChange, ...] = always(())
    """Cases that passed in the baseline and fail now; with several trials, that pass significantly less often."""
    newly_passing: tuple[CaseChange, ...] = always(())
    """Cases that failed in the baseline and pass now; with several trials, that pass significantly more often."""
    passes_less_often: tuple[CaseChange, ...] = always(())
    """Cases with several trials that pass less or more often than in the baseline, which may be by chance."""
    passes_more_often: tuple[CaseChange, ...] = always(())
    changed: tuple[CaseChange, ...] = always(())
    """Cases with different content: not paired."""
    new: tuple[CaseChange, ...] = always(())
    gone: tuple[CaseChange, ...] = always(())
    unscored: tuple[CaseChange, ...] = always(())
    """Cases that errored, are invalid or were not run in one of the two: not paired."""

    @property
    def is_control(self) -> bool:
        """Whether the subject only checks the harness."""
        return self.subject in CONTROLS

    @property
    def is_tested(self) -> bool:
        """Whether it counts in the correction: controls, and contrasts with too few cases to show anything, don't."""
        return self.p is not None and self.paired >= FEWEST and not self.is_control

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at 5 %, corrected."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT


class Comparison(Record, frozen=True, kw_only=True):
    """The comparison of a run with a baseline: one contrast per suite and subject that both have."""

    schema: str = always(SCHEMA)
    baseline: Mapping[str, Any]
    """The other run: ``id``, ``started``, ``source`` (as it was named), perhaps ``commit``; ``complete``."""
    run: Mapping[str, Any]
    contrasts: tuple[Contrast, ...] = always(())
    missing: tuple[str, ...] = ()
    """Suites and subjects that only one run has: ``crm × gpt-4.1 is only in the baseline``."""

    correction: str = ""
    """How p-values are corrected; empty if there is only one. Computed."""

    def __post_init__(self) -> None:
        """Compute what follows from the contrasts."""
        count = sum(contrast.is_tested for contrast in self.contrasts)
        force_setattr(self, "correction", f"Holm over {count} contrasts" if count > 1 else "")

    @property
    def cautions(self) -> Sequence[str]:
        """Warnings about runs that are incomplete."""
        sides = {"this run": (self.run, "gone"), "the baseline": (self.baseline, "new")}
        return [
            f"{name} is incomplete: cases listed as {kind} may just not have been played in it"
            for name, (run, kind) in sides.items()
            if run.get("complete") is False
        ]

    def of(self, suite: str, subject: str) -> Contrast | None:
        """Return the contrast of a subject in a suite; None if the two have none."""
        found = (each for each in self.contrasts if (each.suite, each.subject) == (suite, subject))
        return next(found, None)
