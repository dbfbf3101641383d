"""Strengths and weaknesses of subjects: a row per label, a column per subject."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_crmeval.render.page.words import NOTHING, percent, to_trials
from pytest_crmeval.report.metrics import KINDS, Breakdown, Group, reading_order
from pytest_crmeval.report.report import SubjectSummary

LABELS = 40
"""How many labels of a kind are shown: those with the most cases."""

ENOUGH = (4, 8, 16)
"""Cases from which a colour is stronger."""

LABELLED = frozenset({"complexity", "category", "split", "tag"})
"""Kinds by which the list of trials can be filtered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The result of one subject for one label."""

    shown: str
    size: int
    """Number of cases, solutions, or turns of a tool."""
    share: float | None
    """The share that sets the colour; None if nothing was scored."""
    title: str
    """The tooltip."""
    link: str = ""
    """Link to its trials."""

    @property
    def weight(self) -> int:
        """How strongly its colour is shown, from 1 to 4: the share of few cases says little."""
        return 1 + sum(self.size >= enough for enough in ENOUGH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """Results by label: a row per label, a column per subject."""

    kind: str
    of: str
    """What is counted."""
    subjects: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    more: int
    """Labels that are not shown."""


def heats_of(summaries: Sequence[SubjectSummary]) -> Sequence[Heat]:
    """Return a table for each kind of label that the cases of a suite have."""
    found = [_Labelled(summary=summary, by=_breakdown(summary)) for summary in summaries]
    kinds = dict.fromkeys([*KINDS, *(kind for each in found for kind in each.by)])
    return [_heat(kind, found) for kind in kinds if any(each.by.get(kind) for each in found)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Labelled:
    """A subject, and how it went by label."""

    summary: SubjectSummary
    by: Breakdown

    def counts(self, kind: str) -> str:
        """Return what is counted: for a checkpoint, solutions, because a file of many solutions is one case."""
        if self.by is not self.summary.by:
            return "solutions"
        return "turns" if kind == "tool" else "cases"


def _breakdown(summary: SubjectSummary) -> Breakdown:
    """Return the results by label: of cases or, for a checkpoint, of judged solutions."""
    figures: Any = summary.to_dict().get("checkpoint", {})
    solved = {
        kind: {label: _group(share["solved"], share["judged"]) for label, share in shares.items()}
        for kind, shares in figures.get("by", {}).items()
    }
    return solved or summary.by


def _group(solved: int, judged: int) -> Group:
    return Group(cases=judged, passed=solved, failed=judged - solved, pass_rate=solved / judged if judged else None)


def _heat(kind: str, found: Sequence[_Labelled]) -> Heat:
    sizes: Counter[str] = Counter()
    for each in found:
        for label, group in each.by.get(kind, {}).items():
            sizes[label] += _size(group)
    shown = sorted(sizes, key=lambda label: (-sizes[label], label))[:LABELS]
    return Heat(
        kind=kind,
        of=" or ".join(dict.fromkeys(each.counts(kind) for each in found)),
        subjects=[each.summary.subject for each in found],
        rows=[(label, [_cell(kind, label, each) for each in found]) for label in sorted(shown, key=reading_order)],
        more=len(sizes) - len(shown),
    )


def _cell(kind: str, label: str, found: _Labelled) -> Cell:
    group, summary = found.by.get(kind, {}).get(label), found.summary
    share = None if group is None else group.turn_success if group.pass_rate is None else group.pass_rate
    if group is None or share is None:
        return Cell(shown=NOTHING, size=0, share=None, title=f"{summary.subject}: no scores for {label}")
    size, counted = _size(group), found.counts(kind)
    has_link = kind in LABELLED and found.by is summary.by  # labels of turns have none
    return Cell(
        shown=percent(share),
        size=size,
        share=round(share, 3),
        title=f"{summary.subject}, {label}: {percent(share)} of {size:,} {counted if size != 1 else counted[:-1]}",
        link=to_trials(suite=summary.suite, subject=summary.subject, label=f"{kind}:{label}") if has_link else "",
    )


def _size(group: Group) -> int:
    return group.cases or group.turns or 0
