"""Where subjects are strong and where they are weak: labels down, subjects across."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_crmeval.render.page.links import to_trials
from pytest_crmeval.render.page.words import NOTHING, percent
from pytest_crmeval.report.metrics import KINDS, Breakdown, Group, reading_order
from pytest_crmeval.report.report import SubjectSummary

LABELS = 40
"""How many labels of a kind are shown, of many those with most cases."""

LABELLED = frozenset({"complexity", "category", "split", "tag"})
"""Kinds that trials can be chosen by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """How one subject did with what has one label."""

    shown: str
    size: int
    """Cases, solutions, or turns of a tool, that it is taken from."""
    share: float | None
    """What it is coloured by; None if there is nothing to colour."""
    told: str
    link: str = ""
    """To the trials that it is taken from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """A table of what cases, or turns, have in common."""

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
        """Return what there are so many of: of a checkpoint solutions are judged, and a file of them is one case."""
        if self.by is not self.summary.by:
            return "solutions"
        return "turns" if kind == "tool" else "cases"


def _breakdown(summary: SubjectSummary) -> Breakdown:
    """Return how it went by label: cases, or, of a checkpoint, the solutions that were judged."""
    told: Any = summary.to_dict().get("checkpoint", {})
    solved = {
        kind: {label: _group(share["solved"], share["judged"]) for label, share in shares.items()}
        for kind, shares in told.get("by", {}).items()
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
    share = None if group is None else _share(group)
    if group is None or share is None:
        return Cell(shown=NOTHING, size=0, share=None, told=f"{summary.subject} was not scored in {label}")
    size, counted = _size(group), found.counts(kind)
    return Cell(
        shown=percent(share),
        size=size,
        share=round(share, 3),
        told=f"{summary.subject}, {label}: {percent(share)} of {size:,} {counted if size != 1 else counted[:-1]}",
        link=_link(kind, label, summary) if found.by is summary.by else "",
    )


def _link(kind: str, label: str, summary: SubjectSummary) -> str:
    """Return where the cases are; turns are no trials."""
    if kind not in LABELLED:
        return ""
    return to_trials(suite=summary.suite, subject=summary.subject, label=f"{kind}:{label}")


def _size(group: Group) -> int:
    return group.cases or group.turns or 0


def _share(group: Group) -> float | None:
    return group.turn_success if group.pass_rate is None else group.pass_rate
