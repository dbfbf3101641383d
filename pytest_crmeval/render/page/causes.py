"""Why trials did not pass, in words: one cause for many trials, with an example."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.explanation import Fault, faults_of
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.render.page.words import short, to_trial, to_trials
from pytest_crmeval.report.outliers import generalized, reason_of

SHOWN = 15
"""Causes of a suite that are shown."""
TOOLS = 3
"""Tools of a cause that are named: the most frequent ones."""
_SINGULAR: Mapping[str, str] = {table: entity.lower() for entity, (table, _) in TABLES.items()}
_WHERE = re.compile(r"(?P<table>\w+)\b.*: (?P<column>\w+)", re.DOTALL)
_ROW = re.compile(r"(?P<table>\w+): (?:\d+ )?(?P<what>missing|unexpected): ")
_DELETED = re.compile(r"(?P<table>\w+)\b.*: (?P<what>was deleted|should have been deleted)$", re.DOTALL)
_CALL = re.compile(
    r"(?P<what>not made|not written|written but not requested(?:, and undone in the same turn)?"
    r"|not attempted, record not read|no call was answered; expected):? (?P<tool>\w+)\("
)
_QUOTED = re.compile(r'"(?P<quote>.*)": (?P<why>.*)', re.DOTALL)
_REPLIES = (
    ("no record or message has", "the reply says something that no record or message has"),
    ("nothing was written", "the reply reports a change that was not made"),
    ("the turn has changed nothing", "the reply reports a change that was not made"),
    ("", "the reply contradicts the records"),
)
"""Beginnings of what is wrong with a quoted statement of a reply, and the cause in words."""
_LEFT_OUT = re.compile(r"the reply does not say (?!that it)")
_ROWS = {"missing": "{} not created", "unexpected": "unexpected {}"}
_DELETIONS = {"was deleted": "{} deleted by mistake", "should have been deleted": "{} not deleted"}
_CALLS = {
    "not made": "{} not called",
    "not written": "{} not called, or with other values",
    "not attempted, record not read": "{} not attempted, record not read",
    "no call was answered; expected": "{} not answered",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultGroup:
    """What is wrong with some trials of a suite."""

    score: str
    """The score that found it; empty for an error."""
    text: str
    trials: int
    tools: Sequence[tuple[str, int]]
    """The tools of the turns that went wrong, and in how many trials; empty if the cause names its tool."""
    example: str
    """One of the reasons as it is stored."""
    case: str
    """The case of the example."""
    example_link: str
    link: str


def causes_in(trial: Trial) -> Mapping[tuple[str, str], Fault]:
    """Return what is wrong with a trial: score and cause -> the first fault of this kind."""
    if trial.verdict is Verdict.ERRORED:
        return {("", f"errored: {generalized(reason_of(trial))}"): Fault(score="", text=reason_of(trial))}
    if trial.verdict is not Verdict.FAILED:
        return {}
    return {(fault.score, in_words(fault)): fault for fault in reversed(list(faults_of(trial.scores)))}


def causes_of(suite: str, trials: Sequence[Trial]) -> Sequence[FaultGroup]:
    """Return why trials of a suite did not pass, the most frequent cause first; a trial may have several."""
    found: dict[tuple[str, str], list[tuple[Trial, Fault]]] = {}
    for trial in trials:
        for cause, fault in causes_in(trial).items():
            found.setdefault(cause, []).append((trial, fault))
    ordered = sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
    return [_cause(suite, *cause, examples) for cause, examples in ordered[:SHOWN]]


def _cause(suite: str, score: str, text: str, examples: Sequence[tuple[Trial, Fault]]) -> FaultGroup:
    trial, fault = examples[0]
    tools = Counter(tool for trial, fault in examples if (tool := _tool(trial, fault)))
    return FaultGroup(
        score=score,
        text=text,
        trials=len(examples),
        tools=[] if any(tool in text for tool in tools) else tools.most_common(TOOLS),
        example=short(fault.text),
        case=trial.planned.case,
        example_link=to_trial(suite, trial.planned.subject, trial.planned.case, trial.planned.trial),
        link=to_trials(suite=suite, cause=name_of(score, text)),
    )


def _tool(trial: Trial, fault: Fault) -> str:
    """Return the expected tool of the turn with a fault, or of the first turn that failed; empty if there is none."""
    if fault.turn is not None:
        return trial.turns[fault.turn - 1].tool if 0 < fault.turn <= len(trial.turns) else ""
    return next((turn.tool for turn in trial.turns if not turn.passed), "")


def name_of(score: str, text: str) -> str:
    """Return the name of a cause in the list of trials."""
    return f"{score}: {text}" if score else text


def in_words(fault: Fault) -> str:
    """Return a fault without what differs from case to case: ``wrong quote status`` instead of ids and values."""
    return next(_phrases(fault), "") or generalized(fault.text)


def _phrases(fault: Fault) -> Iterator[str]:
    if fault.difference and (found := _WHERE.fullmatch(fault.difference[0])):
        yield f"wrong {_named(found['table'])} {found['column'].replace('_', ' ')}"
    if found := _ROW.match(fault.text):
        yield _ROWS[found["what"]].format(_named(found["table"]))
    if found := _DELETED.match(fault.text):
        yield _DELETIONS[found["what"]].format(_named(found["table"]))
    if found := _CALL.match(fault.text):
        yield _CALLS.get(found["what"], "{} called without a request").format(found["tool"])
    if found := _QUOTED.fullmatch(fault.text):
        yield next(words for beginning, words in _REPLIES if found["why"].startswith(beginning))
    if _LEFT_OUT.match(fault.text):
        yield "the reply leaves out a value"


def _named(table: str) -> str:
    return _SINGULAR.get(table, table)
