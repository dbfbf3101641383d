"""What people say about the verdicts of trials: one line per opinion, appended; the latest of each person counts."""

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

import msgspec

from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.records import Record, always
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.locks import now

NAME = "annotations.jsonl"
SCHEMA = "crmeval.annotation/1"
LONGEST = 10_000
"""Characters of a note."""


class Opinion(StrEnum):
    """What a person says about a verdict."""

    AGREE = "agree"
    DISAGREE = "disagree"
    NONE = "none"
    """The person has withdrawn the opinion, or has only written a note."""


class Annotation(Record, frozen=True, kw_only=True):
    """The opinion of one person about one trial."""

    schema: str = always(SCHEMA)
    key: str
    """The key of the trial in the journal."""
    suite: str
    subject: str
    case: str
    trial: int
    verdict: Verdict
    """The verdict that the opinion is about."""
    opinion: Opinion
    note: str = always("")
    person: str
    at: str
    """When it was given, in UTC."""

    @property
    def is_empty(self) -> bool:
        """Whether it withdraws an earlier one."""
        return self.opinion is Opinion.NONE and not self.note

    def is_about(self, trial: Trial) -> bool:
        """Whether it is about this verdict of the trial, which may have been played again since."""
        return self.key == trial.planned.key and self.verdict is trial.verdict


_DECODER = msgspec.json.Decoder(Annotation)
Annotations = Mapping[str, Sequence[Annotation]]
"""Key of a trial -> the opinions about it, one per person."""
NO_ANNOTATIONS: Annotations = {}


def annotation_of(trial: Trial, opinion: Opinion, note: str, person: str) -> Annotation:
    """Return the opinion that a person gives now about a trial."""
    planned = trial.planned
    return Annotation(
        key=planned.key,
        suite=planned.suite,
        subject=planned.subject,
        case=planned.case,
        trial=planned.trial,
        verdict=trial.verdict,
        opinion=opinion,
        note=printable(note.strip()[:LONGEST]),
        person=person,
        at=now(),
    )


def add(run: Path, annotation: Annotation) -> None:
    """Append an opinion to the file of a run, on disk when it returns; OSError if that fails."""
    run.mkdir(parents=True, exist_ok=True)
    line = json.dumps(annotation.to_dict(), ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    with (run / NAME).open("ab+", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        file.write(line if end == 0 or file.read(1) == b"\n" else b"\n" + line)  # after a line that was cut short
        os.fsync(file.fileno())


def annotations_in(run: Path) -> Annotations:
    """Return the opinions about the trials of a run; damaged lines are skipped."""
    path = run / NAME
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return NO_ANNOTATIONS


@lru_cache(64)
def _read(path: Path, *_version: int) -> Annotations:
    latest: dict[tuple[str, str], Annotation] = {}
    for line in path.read_bytes().splitlines():
        try:
            found = _DECODER.decode(line)
        except (msgspec.MsgspecError, UnicodeError):
            continue
        latest.pop((found.key, found.person), None)
        if not found.is_empty:
            latest[found.key, found.person] = found
    by_key: dict[str, list[Annotation]] = {}
    for found in latest.values():
        by_key.setdefault(found.key, []).append(found)
    return by_key
