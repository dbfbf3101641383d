"""Why trials did not pass, in words: one cause for many trials, with an example."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.explanation import Fault, faults_of
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.render.page.words import to_trials
from pytest_crmeval.report.outliers import alike, reason_of

SHOWN = 15
"""Causes of a suite that are shown."""
_SINGULAR: Mapping[str, str] = {table: entity.lower() for entity, (table, _) in TABLES.items()}
_WHERE = re.compile(r"(?P<table>\w+)\b.*: (?P<column>\w+)", re.DOTALL)
_ROW = re.compile(r"(?P<table>\w+): (?:\d+ )?(?P<what>missing|unexpected): ")
_DELETED = re.compile(r"(?P<table>\w+)\b.*: (?P<what>was deleted|should have been deleted)$", re.DOTALL)
_CALL = re.compile(
    r"(?P<what>not made|not written|written but not requested(?:, and undone in the same turn)?"
    r"|neither tried nor looked up|no call was answered; expected):? (?P<tool>\w+)\("
)
_ROWS = {"missing": "{} not created", "unexpected": "unexpected {}"}
_DELETIONS = {"was deleted": "{} deleted by mistake", "should have been deleted": "{} not deleted"}
_CALLS = {
    "not made": "{} not called",
    "not written": "{} not called, or with other values",
    "neither tried nor looked up": "{} neither tried nor looked up",
    "no call was answered; expected": "{} not answered",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultGroup:
    """What is wrong with some trials of a suite."""

    score: str
    """The score that found it; empty for an error."""
    text: str
    trials: int
    example: str
    """One of the reasons as it is stored."""
    link: str


def causes_in(trial: Trial) -> Mapping[tuple[str, str], str]:
    """Return what is wrong with a trial: score and cause -> the reason as it is stored."""
    if trial.verdict is Verdict.ERRORED:
        return {("", f"errored: {alike(reason_of(trial))}"): reason_of(trial)}
    if trial.verdict is not Verdict.FAILED:
        return {}
    return {(fault.score, in_words(fault)): fault.text for fault in reversed(list(faults_of(trial.scores)))}


def causes_of(suite: str, trials: Sequence[Trial]) -> Sequence[FaultGroup]:
    """Return why trials of a suite did not pass, the most frequent cause first; a trial may have several."""
    found: dict[tuple[str, str], list[str]] = {}
    for trial in trials:
        for cause, example in causes_in(trial).items():
            found.setdefault(cause, []).append(example)
    ordered = sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
    return [
        FaultGroup(
            score=score,
            text=text,
            trials=len(examples),
            example=examples[0],
            link=to_trials(suite=suite, cause=name_of(score, text)),
        )
        for (score, text), examples in ordered[:SHOWN]
    ]


def name_of(score: str, text: str) -> str:
    """Return the name of a cause in the list of trials."""
    return f"{score}: {text}" if score else text


def in_words(fault: Fault) -> str:
    """Return a fault without what differs from case to case: ``wrong quote status`` instead of ids and values."""
    return next(_phrases(fault), "") or alike(fault.text)


def _phrases(fault: Fault) -> Iterator[str]:
    if fault.difference and (found := _WHERE.fullmatch(fault.difference[0])):
        yield f"wrong {_named(found['table'])} {found['column'].replace('_', ' ')}"
    if found := _ROW.match(fault.text):
        yield _ROWS[found["what"]].format(_named(found["table"]))
    if found := _DELETED.match(fault.text):
        yield _DELETIONS[found["what"]].format(_named(found["table"]))
    if found := _CALL.match(fault.text):
        yield _CALLS.get(found["what"], "{} called without a request").format(found["tool"])


def _named(table: str) -> str:
    return _SINGULAR.get(table, table)
