"""The tables of a run: one row per trial, score, turn, tool call, bill and annotation."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.journal.annotations import annotations_in
from pytest_crmeval.journal.transcripts import dialogue_of


class TableRow(msgspec.Struct, frozen=True, kw_only=True):
    """The columns that all tables have; together they identify a trial."""

    run: str
    suite: str
    subject: str
    case: str
    trial: int


class TrialRow(TableRow, frozen=True, kw_only=True):
    """One trial."""

    spec: str
    verdict: str
    passed: bool | None
    """Whether the trial passed; None if it errored, is invalid, or is a solution file, which has ``solved``."""
    reason: str
    seconds: float
    complexity: str
    category: str
    tags: str
    """Separated by commas."""
    split: str
    chain: str
    attempt: str | None
    """Of a question: correct, incorrect or not_attempted."""
    confidence: float | None
    """Of a question: the confidence that the subject stated."""
    solved: int | None
    """Of a solution file: solutions that passed every test."""
    graded: int | None
    """Of a solution file: solutions with a verdict."""
    models: str
    """The models that the subject asked, separated by commas."""
    notes: str
    """Separated by line breaks."""


class ScoreRow(TableRow, frozen=True, kw_only=True):
    """One score of a trial."""

    name: str
    value: float
    threshold: float
    passed: bool
    reason: str


class TurnRow(TableRow, frozen=True, kw_only=True):
    """One turn of a conversation, or the question and its answer."""

    turn: int
    user: str
    reply: str
    cut: bool
    """Whether the agent was still calling tools when its steps ran out."""
    tool: str | None
    """The tool of the expected call; None if the turn was not scored on its own."""
    calls_ok: bool | None
    reply_ok: bool | None


class CallRow(TableRow, frozen=True, kw_only=True):
    """One tool call."""

    turn: int
    call: int
    """Number of the call in its turn."""
    tool: str
    arguments: str
    """JSON."""
    result: str
    """JSON; empty if the call was refused."""
    error: str
    """The kind of refusal; empty if the call was not refused."""
    message: str
    """The message of the refusal."""


class UsageRow(TableRow, frozen=True, kw_only=True):
    """The usage of the subject, of one of its roles, of the judge, or of the simulated user."""

    role: str
    calls: int
    retries: int
    input_tokens: int
    cached_tokens: int
    cache_written_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: float | None
    """In US dollars; None if the price is unknown."""
    replayed: bool


class AnnotationRow(TableRow, frozen=True, kw_only=True):
    """The opinion of one person about a verdict."""

    person: str
    at: str
    verdict: str
    """The verdict that the opinion is about."""
    opinion: str
    note: str
    current: bool
    """Whether the trial still has this verdict."""


def trials(run: str, trial: Trial, folder: Path | None) -> Iterator[TrialRow]:  # noqa: ARG001 (as the other tables)
    """Yield the row of a trial."""
    answer, solutions, labels = trial.answer, trial.solutions, trial.labels
    is_scored = trial.verdict in {Verdict.PASSED, Verdict.FAILED} and solutions is None
    yield TrialRow(
        **_place(run, trial),
        spec=trial.planned.spec,
        verdict=str(trial.verdict),
        passed=trial.passed if is_scored else None,
        reason=trial.reason,
        seconds=trial.seconds,
        complexity=labels.complexity,
        category=labels.category,
        tags=", ".join(labels.tags),
        split=labels.split,
        chain=labels.chain,
        attempt=str(answer.attempt) if answer else None,
        confidence=answer.confidence if answer else None,
        solved=solutions.solved if solutions else None,
        graded=solutions.judged if solutions else None,
        models=", ".join(trial.models),
        notes="\n".join(trial.notes),
    )


def scores(run: str, trial: Trial, folder: Path | None) -> Iterator[ScoreRow]:  # noqa: ARG001 (as the other tables)
    """Yield a row per score."""
    for score in trial.scores:
        yield ScoreRow(
            **_place(run, trial),
            name=score.name,
            value=score.value,
            threshold=score.threshold,
            passed=score.passed,
            reason=score.reason,
        )


def turns(run: str, trial: Trial, folder: Path | None) -> Iterator[TurnRow]:
    """Yield a row per turn; none if there is no transcript, or it is confidential."""
    for number, exchange in enumerate(_dialogue(trial, folder).exchanges, start=1):
        outcome = trial.turns[number - 1] if number <= len(trial.turns) else None
        yield TurnRow(
            **_place(run, trial),
            turn=number,
            user="\n".join(message.text for message in exchange.messages if message.speaker == "user"),
            reply=exchange.reply,
            cut=exchange.cut,
            tool=outcome.tool if outcome else None,
            calls_ok=outcome.called if outcome else None,
            reply_ok=outcome.replied if outcome else None,
        )


def calls(run: str, trial: Trial, folder: Path | None) -> Iterator[CallRow]:
    """Yield a row per tool call; none if there is no transcript, or it is confidential."""
    for turn, exchange in enumerate(_dialogue(trial, folder).exchanges, start=1):
        for number, (call, result) in enumerate(exchange.calls, start=1):
            yield CallRow(
                **_place(run, trial),
                turn=turn,
                call=number,
                tool=call.tool,
                arguments=encoded(call.arguments).decode(),
                result="" if result.error else encoded(result.value).decode(),
                error=result.error.kind if result.error else "",
                message=result.error.message if result.error else "",
            )


def usage(run: str, trial: Trial, folder: Path | None) -> Iterator[UsageRow]:  # noqa: ARG001 (as the other tables)
    """Yield a row per role of the subject, or one for the subject itself, for the judge and for the simulated user."""
    judge = trial.judgement.bill if trial.judgement else None
    subject: Mapping[str, Bill | None] = trial.roles or {"subject": trial.bill}
    bills: dict[str, Bill | None] = {**subject, "judge": judge, "simulated user": trial.simulator}
    for role, bill in bills.items():
        if bill is not None:
            yield UsageRow(
                **_place(run, trial),
                role=role,
                calls=bill.usage.calls,
                retries=bill.usage.retries,
                input_tokens=bill.usage.input,
                cached_tokens=bill.usage.cached,
                cache_written_tokens=bill.usage.cache_written,
                output_tokens=bill.usage.output,
                reasoning_tokens=bill.usage.reasoning,
                cost=bill.cost,
                replayed=bill.replayed,
            )


def annotations(run: str, trial: Trial, folder: Path | None) -> Iterator[AnnotationRow]:
    """Yield a row per person with an opinion about a trial."""
    for each in annotations_in(folder).get(trial.planned.key, ()) if folder else ():
        yield AnnotationRow(
            **_place(run, trial),
            person=each.person,
            at=each.at,
            verdict=str(each.verdict),
            opinion=str(each.opinion),
            note=each.note,
            current=each.is_about(trial),
        )


TABLES: Mapping[str, tuple[type[TableRow], Callable[[str, Trial, Path | None], Iterator[TableRow]]]] = {
    "trials": (TrialRow, trials),
    "scores": (ScoreRow, scores),
    "turns": (TurnRow, turns),
    "calls": (CallRow, calls),
    "usage": (UsageRow, usage),
    "annotations": (AnnotationRow, annotations),
}
"""Name -> the columns of a table, and the rows of a trial in it."""


def _place(run: str, trial: Trial) -> dict[str, Any]:
    planned = trial.planned
    return {
        "run": run,
        "suite": planned.suite,
        "subject": planned.subject,
        "case": planned.case,
        "trial": planned.trial,
    }


def _dialogue(trial: Trial, folder: Path | None) -> Transcript:
    return (dialogue_of(folder, trial) if folder else None) or Transcript()
