"""The comparison with the baseline: the changes, whether they are significant, and the cases that changed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.render.page.dialogues import dialogue, kept
from pytest_crmeval.render.page.words import NOTHING, moment, rate, signed, to_trial, to_trials, words
from pytest_crmeval.report.comparison import LISTS, CaseChange, Comparison, Contrast
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.tables import p_value

FEW, SHOWN = 10, 50
"""Cases named per list: few where the list of trials has all of them, more where this run has no trials of them."""
BESIDE = ("newly_failing", "newly_passing", "passes_less_often", "passes_more_often", "changed")
"""Lists of cases whose dialogues are shown side by side."""
WORSE = ("newly_failing", "passes_less_often")
NARROWEST = 0.1
Changes = Mapping[tuple[str, str, str], str]
"""Suite, subject and case -> the list of the comparison that it is in."""
Earlier = Callable[[Trial], JsonObject | None]
"""Returns the dialogue of the baseline that is shown beside that of a trial; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeList:
    """Cases that changed in the same way."""

    name: str
    count: int
    cases: Sequence[tuple[CaseChange, str]]
    """Each with the link to its trial; empty if this run has none of it."""
    link: str
    """Link to the trials of this list; empty if this run has none of them."""
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastView:
    """One subject in one suite, before and after."""

    contrast: Contrast
    lists: Sequence[ChangeList]
    widest: float
    """The largest difference drawn in any contrast."""

    @property
    def title(self) -> str:
        """The subjects that are compared."""
        found = self.contrast
        other = f" vs {found.baseline_subject}" if found.baseline_subject != found.subject else ""
        by = " (pass@1)" if found.difference and found.p is None else ""  # of checkpoints
        control = " (control)" if found.is_control else ""
        return f"{found.suite} × {found.subject}{other}{control}{by}"

    @property
    def mood(self) -> str:
        """Whether the change is good or bad; plain if it is not significant."""
        found = self.contrast
        if not found.significant or found.difference is None:
            return "plain"
        return "good" if found.difference.value > 0 else "bad"

    @property
    def ruling(self) -> str:
        """The same in words."""
        if self.contrast.p is None:
            return "not tested"
        return {"good": "better", "bad": "worse"}.get(self.mood, "no significant change")

    @property
    def difference(self) -> str:
        """After minus before."""
        found = self.contrast.difference
        return NOTHING if found is None else signed(found.value)

    @property
    def interval(self) -> str:
        """The 95 % interval of the difference."""
        found = self.contrast.difference
        return "" if found is None or found.interval is None else " to ".join(map(signed, found.interval))

    def place(self, value: float) -> float:
        """Return the position of a difference, from 0 to 1."""
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
        """The p-value, corrected for the number of contrasts."""
        return p_value(self.contrast.p_holm)

    @property
    def detectable(self) -> str:
        """The minimum detectable difference with this number of cases."""
        return rate(self.contrast.detectable)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineView:
    """The comparison as the page shows it."""

    name: str
    facts: Sequence[str]
    contrasts: Sequence[ContrastView]
    correction: str
    missing: Sequence[str]
    """Cases and suites that only one of the two has, and which of them is incomplete."""


def baseline_of(comparison: Comparison) -> BaselineView:
    """Return the view of a comparison."""
    baseline = comparison.baseline
    commit = [f"commit {str(baseline['commit'])[:12]}"] if baseline.get("commit") else []
    source = [str(baseline["source"])] if baseline.get("source", baseline.get("id")) != baseline.get("id") else []
    found = [each.difference for each in comparison.contrasts if each.difference]
    widest = max([NARROWEST, *(abs(end) for each in found for end in (each.value, *(each.interval or ())))])
    return BaselineView(
        name=str(baseline.get("id", "")),
        facts=[*map(moment, [baseline["started"]] if baseline.get("started") else []), *source, *commit],
        contrasts=[
            ContrastView(
                contrast=each,
                lists=[_list(each, name, changes) for name in LISTS if (changes := getattr(each, name))],
                widest=widest,
            )
            for each in sorted(comparison.contrasts, key=lambda contrast: contrast.is_control)
        ],
        correction=comparison.correction,
        missing=[*comparison.cautions, *comparison.missing],
    )


def changes_of(comparison: Comparison | None) -> Changes:
    """Return how each changed case has changed."""
    contrasts = comparison.contrasts if comparison else ()
    return {
        (each.suite, each.subject, change.case): words(name)
        for each in contrasts
        for name in LISTS
        for change in getattr(each, name)
    }


def earlier_dialogues(comparison: Comparison | None, baseline: tuple[Report, Path] | None) -> Earlier:
    """Return what finds the dialogue of the baseline for a trial whose case has changed.

    ``baseline`` is its report, and the folder of its run. A repeat is shown beside the same repeat.
    """
    if comparison is None or baseline is None:
        return lambda _: None
    report, run = baseline
    played = {
        (trial.planned.suite, trial.planned.subject, trial.planned.case, trial.planned.trial): trial
        for trial in report.trials
    }
    subjects = {
        (each.suite, each.subject, change.case): each.baseline_subject
        for each in comparison.contrasts
        for change in chain.from_iterable(getattr(each, name) for name in BESIDE)
    }

    def earlier(trial: Trial) -> JsonObject | None:
        suite, subject, case = trial.planned.suite, trial.planned.subject, trial.planned.case
        other = subjects.get((suite, subject, case), "")
        found = played.get((suite, other, case, trial.planned.trial)) or played.get((suite, other, case, 1))
        if found is None:
            return None
        shown = dialogue(found, kept(run, found))
        return {"verdict": str(found.verdict), **{name: shown[name] for name in shown if name != "where"}}

    return earlier


def _list(contrast: Contrast, name: str, changes: Sequence[CaseChange]) -> ChangeList:
    """Return the cases of a list; new and more frequent failures and short lists are unfolded."""
    gone = name == "gone"
    return ChangeList(
        name=words(name),
        count=len(changes),
        cases=[
            (change, "" if gone else to_trial(contrast.suite, contrast.subject, change.case))
            for change in changes[: SHOWN if gone else FEW]
        ],
        link="" if gone else to_trials(suite=contrast.suite, subject=contrast.subject, change=words(name)),
        open=name in WORSE or len(changes) <= FEW,
    )
