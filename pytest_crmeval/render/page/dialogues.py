"""A trial as the page shows it: the messages, the calls and their results, and the faults."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pytest_crmeval.domain.cutting import cut, printable
from pytest_crmeval.domain.explanation import Fault, faults_of
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.paths import own_name
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.wire import parsed
from pytest_crmeval.journal.annotations import Annotation
from pytest_crmeval.journal.transcripts import ENCRYPTED, name_of
from pytest_crmeval.render.page.differences import RowDifference, apart
from pytest_crmeval.render.page.programs import failed_programs

TRANSCRIPTS = "transcripts"
LONGEST = 20_000
"""Characters of a text that are shown; the file has all of them."""
MOST = 200
"""Items of a list, or of an object, that are shown."""


class _Turn(msgspec.Struct, frozen=True, gc=False):
    """A turn whose messages are copied to the page as they are written."""

    messages: list[msgspec.Raw]
    cut: bool = False


class _Record(msgspec.Struct, frozen=True, gc=False):
    key: str


class _Document(msgspec.Struct, frozen=True):
    """A transcript, as far as the page needs it."""

    record: _Record
    turns: list[_Turn]


_DECODER = msgspec.json.Decoder(_Document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The stored dialogue of a trial."""

    turns: Sequence[_Turn] = ()
    where: str = ""
    """The file, relative to the folder of the run; empty if there is none."""
    closed: bool = False
    """Whether it is confidential, and so not shown on a page."""
    trouble: str = ""
    """Why it can't be read."""
    programs: Sequence[JsonObject] = ()
    """Of a solution file: programs that failed."""


def kept(run: Path, trial: Trial) -> Kept:
    """Return the stored dialogue of a trial, which may be empty, for example if the case was invalid."""
    if trial.solutions:
        return Kept(programs=failed_programs(run, trial))
    found = _read(run, name_of(trial), trial)
    if found is None:
        found = _read(run, name_of(trial, name=own_name(trial.planned.case, trial.planned.key)), trial)
    return found or Kept()


def dialogue(trial: Trial, found: Kept, annotations: Sequence[Annotation] = ()) -> JsonObject:
    """Return everything that the page shows of a trial, without empty fields."""
    faults = list(faults_of(trial.scores))
    rows, whole = apart([fault for fault in faults if fault.turn is None or not 1 <= fault.turn <= len(found.turns)])
    shown: dict[str, Json] = {
        "turns": [_turn(turn, number, faults) for number, turn in enumerate(found.turns, start=1)],
        "rows": [_row(row) for row in rows[:MOST]],
        "faults": [*map(_fault, whole), *_more(len(rows) - MOST)],
        "scores": [[score.name, round(score.value, 4), score.threshold] for score in trial.scores],
        "reason": _cut(trial.reason),
        "judge": _judge(trial.judgement) if trial.judgement else None,
        "answer": trial.answer.to_dict() if trial.answer else None,
        "bill": trial.bill.to_dict() if trial.bill else None,
        "notes": list(map(printable, trial.notes)),
        "labels": trial.labels.to_dict(),
        "solutions": trial.solutions.to_dict() if trial.solutions else None,
        "programs": list(found.programs),
        "learning": trial.learning.to_dict() if trial.learning else None,
        "key": trial.planned.key,
        "spec": trial.planned.spec,
        "fingerprint": trial.planned.fingerprint,
        "where": found.where,
        "annotations": [_annotation(each, trial) for each in annotations],
        "closed": found.closed,
        "trouble": found.trouble,
    }
    return {name: value for name, value in shown.items() if value}


def _read(run: Path, name: str, trial: Trial) -> Kept | None:
    """Return the dialogue in a file; None if there is no file, or if another test that plays the same case wrote it."""
    where = f"{TRANSCRIPTS}/{name}"
    try:
        content = _beginning(f"{run}/{where}")
        if len(content) <= LONGEST and (quick := _read_quickly(content)):
            return Kept(turns=quick.turns, where=where) if quick.record.key == trial.planned.key else None
        document = parsed((run / where).read_bytes())  # numbers that JSON does not have stay as they are written
        if ENCRYPTED in document:
            return Kept(where=where, closed=True)
        shown: Any = map(_cut, document["turns"])
        turns = [_Turn(messages=list(turn.get("messages", ())), cut=bool(turn.get("cut"))) for turn in shown]
        return Kept(turns=turns, where=where) if document["record"]["key"] == trial.planned.key else None
    except FileNotFoundError:
        return None
    except OSError as error:
        return Kept(where=where, trouble=f"could not be read: {error.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return Kept(where=where, trouble=f"is not a transcript: {cut(repr(error), 200)}")


def _beginning(path: str) -> bytes:
    """Return a file, or more than LONGEST bytes of it; a page reads as many files as there are trials."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, LONGEST + 1)
    finally:
        os.close(descriptor)


def _read_quickly(content: bytes) -> _Document | None:
    """Return a transcript whose texts are copied as they are; None if it must be parsed completely."""
    try:
        return _DECODER.decode(content.decode())
    except (msgspec.MsgspecError, UnicodeError, RecursionError):  # confidential, or not quite JSON
        return None


def _turn(turn: _Turn, number: int, faults: Sequence[Fault]) -> JsonObject:
    shown: dict[str, Json] = {"said": turn.messages}
    if turn.cut:
        shown["cut"] = True
    if wrong := [_fault(fault, beside=True) for fault in faults if fault.turn == number]:
        shown["faults"] = wrong
    return shown


def _fault(fault: Fault, *, beside: bool = False) -> JsonObject:
    """Return a fault as it is shown; its turn is omitted if the fault stands beside it."""
    turn = {"turn": fault.turn} if fault.turn is not None and not beside else {}
    if fault.difference:
        where, expected, actual = fault.difference
        return {"score": fault.score, **turn, "text": _cut(where), "expected": _cut(expected), "actual": _cut(actual)}
    return {"score": fault.score, **turn, "text": _cut(fault.text), **({"lack": True} if fault.is_lack else {})}


def _row(row: RowDifference) -> JsonObject:
    cells: list[Json] = [[_cut(value) for value in cell] for cell in row.cells[:MOST]]
    return {"score": row.score, "title": _cut(row.title), "cells": cells, **({"new": True} if row.is_whole else {})}


def _more(count: int) -> Iterator[JsonObject]:
    if count > 0:
        yield {"score": "", "text": f"{count:,} more rows differ; the transcript has them"}


def _annotation(annotation: Annotation, trial: Trial) -> JsonObject:
    """Return the opinion of a person; one about an earlier verdict says so."""
    outdated = {} if annotation.is_about(trial) else {"outdated": str(annotation.verdict)}
    names = ("person", "at", "opinion", "note")
    return {**{name: str(getattr(annotation, name)) for name in names}, **outdated}


def _judge(judgement: Judgement) -> JsonObject:
    """Return the opinions on a question, or what is made of each statement."""
    false = judgement.false_places
    statements = [
        {"turn": each.turn, "quote": _cut(each.quote), **({"reason": false[place]} if place in false else {})}
        for place, each in enumerate(judgement.statements)
    ]
    return {
        "grades": [] if statements else [grade.to_dict() for grade in judgement.grades],
        "statements": statements,
        **({"restriction": judgement.restriction} if statements and judgement.restriction else {}),
        **({"trouble": judgement.trouble} if judgement.trouble else {}),
        **({"cached": True} if judgement.cached else {}),
    }


def _cut(value: Json) -> Json:
    """Return a value, shortened for the page, with a note of how much was cut."""
    if isinstance(value, str):
        return cut(value, LONGEST, f"… ({len(value) - LONGEST:,} more characters)")
    if isinstance(value, Mapping):
        more = len(value) - MOST
        shown = {name: _cut(item) for name, item in list(value.items())[:MOST]}
        return shown if more <= 0 else {**shown, "…": f"{more:,} more"}
    if isinstance(value, Sequence):
        more = len(value) - MOST
        return [*map(_cut, value[:MOST]), *([f"… {more:,} more"] if more > 0 else [])]
    return value
