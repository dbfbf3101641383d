"""The run against its baseline: what changed, how sure that is, and which cases it was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.render.page.dialogues import dialogue, kept
from pytest_crmeval.render.page.links import to_trials
from pytest_crmeval.render.page.words import NOTHING, moment, rate, signed, words
from pytest_crmeval.report.comparison import LISTS, CaseChange, Comparison, Contrast
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.tables import p_value

FEW, SHOWN = 10, 50
"""So few of a list are named where the list of trials has all of them; of what this run has no trials, so many."""
NARROWEST = 0.1
Changes = Mapping[tuple[str, str, str], str]
"""Suite, subject and case -> in which list of the comparison it is."""
Earlier = Mapping[tuple[str, str, str], JsonObject]
"""Suite, subject and case -> its dialogue in the baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeList:
    """Cases that have changed in one way."""

    name: str
    count: int
    cases: Sequence[CaseChange]
    link: str
    """To the trials of this list; empty if this run has none of them."""
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastView:
    """One subject in one suite, before and after."""

    contrast: Contrast
    lists: Sequence[ChangeList]
    widest: float
    """The largest difference that is drawn, in any contrast."""

    @property
    def title(self) -> str:
        """Who is compared with whom."""
        found = self.contrast
        other = f" against {found.baseline_subject}" if found.baseline_subject != found.subject else ""
        by = " (pass@1)" if found.difference and found.p is None else ""  # that is how checkpoints are compared
        return f"{found.suite} × {found.subject}{other}{by}"

    @property
    def mood(self) -> str:
        """Whether it has become better or worse, if that is sure."""
        found = self.contrast
        if not found.significant or found.difference is None:
            return "plain"
        return "good" if found.difference.value > 0 else "bad"

    @property
    def ruling(self) -> str:
        """The same in words."""
        if self.contrast.p is None:
            return "not tested"
        return {"good": "better", "bad": "worse"}.get(self.mood, "no sure difference")

    @property
    def difference(self) -> str:
        """After less before."""
        found = self.contrast.difference
        return NOTHING if found is None else signed(found.value)

    @property
    def interval(self) -> str:
        """How far that can be believed."""
        found = self.contrast.difference
        return "" if found is None or found.interval is None else " to ".join(map(signed, found.interval))

    def place(self, value: float) -> float:
        """Return where a difference is drawn, from 0 to 1."""
        return round(0.5 + value / (2 * self.widest), 4)

    @property
    def before(self) -> str:
        """Pass rate of the baseline."""
        return rate(self.contrast.before)

    @property
    def after(self) -> str:
        """Pass rate of this run."""
        return rate(self.contrast.after)

    @property
    def p(self) -> str:
        """How likely such a difference is by chance."""
        return p_value(self.contrast.p_holm)

    @property
    def detectable(self) -> str:
        """What so many cases would have shown."""
        return rate(self.contrast.detectable)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineView:
    """The comparison as the page shows it."""

    name: str
    facts: Sequence[str]
    contrasts: Sequence[ContrastView]
    correction: str
    missing: Sequence[str]
    """What only one of the two has, and which of them is not complete."""


def baseline_of(comparison: Comparison) -> BaselineView:
    """Return what there is to show of a comparison."""
    told = comparison.baseline
    commit = [f"commit {str(told['commit'])[:12]}"] if told.get("commit") else []
    source = [str(told["source"])] if told.get("source", told.get("id")) != told.get("id") else []
    widest = max([NARROWEST, *(abs(end) for each in comparison.contrasts for end in _ends(each))])
    return BaselineView(
        name=str(told.get("id", "")),
        facts=[*map(moment, [told["started"]] if told.get("started") else []), *source, *commit],
        contrasts=[ContrastView(contrast=each, lists=_lists(each), widest=widest) for each in comparison.contrasts],
        correction=comparison.correction,
        missing=[*comparison.cautions, *comparison.missing],
    )


def changes_of(comparison: Comparison | None) -> Changes:
    """Return how each case that is not the same has changed."""
    contrasts = comparison.contrasts if comparison else ()
    return {
        (each.suite, each.subject, change.case): words(name)
        for each in contrasts
        for name in LISTS
        for change in getattr(each, name)
    }


def earlier_dialogues(comparison: Comparison | None, baseline: tuple[Report, Path] | None) -> Earlier:
    """Return the dialogues of the baseline that are shown beside those of this run: where the verdict is another.

    ``baseline`` is its report, and the folder of its run.
    """
    if comparison is None or baseline is None:
        return {}
    report, run = baseline
    played = {(trial.planned.suite, trial.planned.subject, trial.planned.case): trial for trial in report.trials}
    found: dict[tuple[str, str, str], JsonObject] = {}
    for each in comparison.contrasts:
        paired = (each.newly_failing, each.newly_passing, each.passes_less_often, each.passes_more_often)
        for change in chain(*paired, each.changed):
            if trial := played.get((each.suite, each.baseline_subject, change.case)):
                found[each.suite, each.subject, change.case] = _earlier(trial, run)
    return found


def _earlier(trial: Trial, run: Path) -> JsonObject:
    told = dialogue(trial, kept(run, trial))
    return {"verdict": str(trial.verdict), **{name: told[name] for name in told if name != "where"}}


def _lists(contrast: Contrast) -> Sequence[ChangeList]:
    return [_list(contrast, name, changes) for name in LISTS if (changes := getattr(contrast, name))]


def _list(contrast: Contrast, name: str, changes: Sequence[CaseChange]) -> ChangeList:
    """Return the cases of a list; what fails now is unfolded, and what is short."""
    gone = name == "gone"
    return ChangeList(
        name=words(name),
        count=len(changes),
        cases=changes[: SHOWN if gone else FEW],
        link="" if gone else to_trials(suite=contrast.suite, subject=contrast.subject, change=words(name)),
        open=name == "newly_failing" or len(changes) <= FEW,
    )


def _ends(contrast: Contrast) -> Sequence[float]:
    found = contrast.difference
    return () if found is None else (found.value, *(found.interval or ()))
