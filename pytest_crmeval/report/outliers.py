"""Outliers among the trials of a subject: the slowest, the most expensive, and why trials did not pass."""

import re
from collections.abc import Sequence

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.records import Record
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial

SHOWN = 10
"""How many trials and reasons are kept."""
EXAMPLES = 5
LONGEST = 200
_VARIABLE = (
    (re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|«[^»\n]*»|“[^”\n]*”"), "…"),
    (re.compile(r"\S+@\S+\.\w+"), "…"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "#"),
    (re.compile(r"\b(?=\w*\d)[\w]*(?:[-.,:/_]\w*\d\w*)*\b"), "#"),
    (re.compile(r"\s+"), " "),
    (re.compile(r"\bturn #: "), ""),
    (re.compile(r"\b(\w+) [^:]* \(#\)(?=:)"), r"\1 …"),
    (re.compile(r"\bNone\b|\w+=(?:[-…#]|None|True|False)*"), "…"),
    (re.compile(r"…(?:, ?\w*…)+"), "…"),
)
"""Parts that differ in similar reasons: quotes, addresses, ids, words with a digit, space, turns, records, values."""


class Outlier(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A trial that took much time or money."""

    case: str
    key: str
    """Key of the trial."""
    value: float
    """Seconds, or US dollars."""


class Reason(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Why trials did not pass: those whose reasons differ only in ids, numbers and quotes are counted together."""

    text: str
    verdict: str
    """``failed`` or ``errored``."""
    count: int
    cases: tuple[str, ...] = ()
    """A few of them."""
    example: str = ""
    """One of the reasons in its original form."""

    @property
    def shown(self) -> str:
        """The reason of a single trial in its original form, else what the reasons have in common."""
        return self.example if self.count == 1 and self.example else self.text


def slowest(trials: Sequence[Trial]) -> tuple[Outlier, ...]:
    """Return the slowest trials, the slowest first."""
    return _most([(trial, trial.seconds) for trial in trials])


def dearest(trials: Sequence[Trial]) -> tuple[Outlier, ...]:
    """Return the most expensive trials, except those without a model or a known price."""
    return _most([(trial, trial.bill.cost or 0.0) for trial in trials if trial.bill])


def reason_of(trial: Trial) -> str:
    """Return on one line why a trial did not pass: the error, or the reason of the first score that is too low.

    Without the place of its case, which an error of a dataset begins with.
    """
    if trial.verdict is not Verdict.FAILED:
        place, found, what = trial.reason.partition(f": {trial.planned.case}: ")
        return _line(what if found and "\n" not in place else trial.reason)
    for score in trial.scores:
        if not score.passed:
            return f"{score.name}: {_line(score.reason)}" if score.reason.strip() else f"{score.name} is too low"
    return _line(trial.reason) or "failed"


def reasons_of(trials: Sequence[Trial]) -> tuple[Reason, ...]:
    """Return why trials failed or errored, the most frequent first; each trial counts once."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if trial.verdict in {Verdict.FAILED, Verdict.ERRORED}:
            groups.setdefault((generalized(reason_of(trial)), str(trial.verdict)), []).append(trial)
    return tuple(
        Reason(
            text=text,
            verdict=verdict,
            count=len(found),
            cases=tuple(dict.fromkeys(trial.planned.case for trial in found))[:EXAMPLES],
            example=reason_of(found[0]),
        )
        for (text, verdict), found in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    )


def generalized(reason: str) -> str:
    """Return a reason with placeholders for the parts that differ from case to case."""
    for pattern, stand_in in _VARIABLE:
        reason = pattern.sub(stand_in, reason)
    return _cut(reason.strip())


def _most(found: Sequence[tuple[Trial, float]]) -> tuple[Outlier, ...]:
    ordered = sorted((each for each in found if each[1] > 0), key=lambda each: (-each[1], each[0].planned.key))
    return tuple(
        Outlier(case=trial.planned.case, key=trial.planned.key, value=value) for trial, value in ordered[:SHOWN]
    )


def _line(text: str) -> str:
    lines = text.strip().splitlines()
    return _cut(lines[0].strip()) if lines else ""


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else cut(line, LONGEST - 1)
