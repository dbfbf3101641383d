"""The only reader of journals: of completed runs, of runs in progress, and of many runs for their usage."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from pytest_crmeval.domain.file_outcome import FileOutcome
from pytest_crmeval.domain.interval import unit_of
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.usage import Bill, total
from pytest_crmeval.journal.gc_pause import gc_paused
from pytest_crmeval.journal.progress import CountedTrial, ProgressCounter
from pytest_crmeval.journal.shard import is_merged, missing_shards, shard_of

if TYPE_CHECKING:
    from pytest_crmeval.domain.trial import PlannedCase, Trial

_T = TypeVar("_T")
_REMEMBERED = 64
"""Bytes before the last read position; if they have changed, the journal was replaced."""


class JournalError(Exception):
    """A journal can't be read or written; the message names the file and the reason."""


class JournalLine(msgspec.Struct, Generic[_T], frozen=True, kw_only=True):
    """One line: a part begins, a trial has ended, a test failed outside its trial, or money was spent."""

    part: dict[str, Any] | None = None
    planned: list[dict[str, Any]] = []
    trial: _T | None = None
    at: float | None = None
    """Time of day when the trial was recorded, in seconds since 1970."""
    tick: float | None = None
    """The same on the monotonic clock of the machine."""
    red: str | None = None
    spent: float | None = None

    def __post_init__(self) -> None:
        """Refuse a record that is not a line of a journal."""
        if self.part is None and self.trial is None and self.red is None and self.spent is None:
            raise ValueError("neither a part nor a trial")
        for time in (self.at, self.tick):
            if time is not None and not isfinite(time):
                raise ValueError(f"invalid time {time}")


class _Judged(msgspec.Struct, frozen=True):
    bill: Bill | None = None


class _Labelled(msgspec.Struct, frozen=True):
    chain: str = ""


class _Learnt(msgspec.Struct, frozen=True):
    held_out: bool = False


class _Any(msgspec.Struct, frozen=True):
    """A record of which only the presence counts."""


class RecordedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """What progress, estimates and shards need of a trial; its other fields are skipped."""

    key: str
    suite: str
    subject: str
    case: str
    fingerprint: str = ""
    spec: str = ""
    verdict: Verdict
    seconds: float
    labels: _Labelled = _Labelled()
    turns: tuple[_Any, ...] = ()
    answer: _Any | None = None
    solutions: FileOutcome | None = None
    bill: Bill | None = None
    simulator: Bill | None = None
    roles: dict[str, Bill] = {}
    learning: _Learnt | None = None
    learning_seconds: float = 0.0
    judgement: _Judged | None = None

    @property
    def is_scored(self) -> bool:
        """Whether the trial was completed: it passed or failed."""
        return self.verdict in {Verdict.PASSED, Verdict.FAILED}

    @property
    def judge_bill(self) -> Bill | None:
        """The usage and cost of its judge."""
        return self.judgement.bill if self.judgement else None


_FULL = msgspec.json.Decoder(JournalLine[dict[str, Any]])
_LIGHT = msgspec.json.Decoder(JournalLine[RecordedTrial])


def decoded_line(line: bytes, decoder: msgspec.json.Decoder[_T]) -> _T:
    """Return a decoded line; ValueError if it is invalid."""
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeError):  # only json reads lone surrogates and NaN
        return msgspec.convert(json.loads(line), decoder.type)


def lines(path: Path, most: int = -1) -> Iterator[JournalLine[RecordedTrial]]:
    """Yield the valid lines among the first ``most`` bytes; OSError if the file can't be read."""
    with path.open("rb") as file:
        for line in file.readlines(most):
            try:
                yield decoded_line(line, _LIGHT)
            except ValueError:
                continue


def first_start(path: Path) -> str:
    """Return when the first part of a run began; JournalError if its journal can't be read."""
    try:
        with path.open("rb") as file, _naming(path, 1):
            line = decoded_line(file.readline(), _LIGHT)
            return str((line.part or {})["started"])
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}") from error


@dataclass(slots=True)
class RunRecord:
    """The content of a journal: the parts of the run, their planned cases, and the last trial of each case."""

    parts: list[JsonObject] = field(default_factory=list)
    planned: "dict[str, PlannedCase]" = field(default_factory=dict)
    trials: "dict[str, Trial]" = field(default_factory=dict)
    red: set[str] = field(default_factory=set)
    """Cases whose test failed for another reason than its trial."""
    size: int = 0
    """Number of bytes that were read."""
    spent: float = 0.0
    """Cost of all trials in dollars, also of those that were repeated or dropped later."""
    latest: float | None = None
    """When the latest trial was recorded, in seconds since 1970; None if unknown."""

    def begin(self, part: JsonObject, planned: "Sequence[PlannedCase]") -> None:
        """Add a part; trials of cases that have changed since are dropped."""
        self.parts.append(part)
        for case in planned:
            self.planned[case.key] = case
            trial = self.trials.get(case.key)
            if trial and not trial.planned.same_as(case):
                del self.trials[case.key]

    def take(self, trial: "Trial") -> None:
        """Add a trial, and clear an earlier failure of its test."""
        self.trials[trial.planned.key] = trial
        self.spent += spent_on(trial)
        self.red.discard(trial.planned.key)


def spent_on(trial: "Trial") -> float:
    """Return the cost of a trial, its judge and its simulated user in dollars; replayed calls cost nothing."""
    bills = (trial.bill, trial.simulator, trial.judgement.bill if trial.judgement else None)
    return sum(bill.spent for bill in bills if bill)


def read(path: Path) -> RunRecord:
    """Return the content of a journal; a missing journal is empty, and an incomplete last line is ignored."""
    from pytest_crmeval.domain.trial import PlannedCase, Trial

    past = RunRecord()

    def take(line: JournalLine[dict[str, Any]]) -> None:
        past.latest = line.at or past.latest
        if line.trial is not None:
            past.take(Trial.from_dict(line.trial, past.planned))
        elif line.red is not None:
            past.red.add(line.red)
        elif line.spent is not None:
            past.spent += line.spent
        elif line.part is not None:
            part = {**line.part, "started": line.part["started"]}
            shard_of(part)  # raises if it is invalid
            past.begin(part, [PlannedCase.from_dict(case) for case in line.planned])

    try:
        with gc_paused(), path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    past.size += len(line)
                    with _naming(path, number):
                        take(decoded_line(line, _FULL))
    except FileNotFoundError:
        return past
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}") from error
    return past


def latest_trials(path: Path, room: int = 400_000) -> "list[Trial]":
    """Return the trials in the last ``room`` bytes of a journal, the latest first; empty if it can't be read."""
    from pytest_crmeval.domain.trial import Trial

    found: list[Trial] = []
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - room))
            lines_read = file.read(room).splitlines(keepends=True)[1 if size > room else 0 :]
    except OSError:
        return []
    for line in lines_read:
        try:
            trial = decoded_line(line, _FULL).trial
            found += [] if trial is None else [Trial.from_dict(trial)]
        except (ValueError, KeyError, TypeError):  # incomplete, or not a line of a journal
            continue
    return found[::-1]


@contextmanager
def _naming(path: Path, number: int) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise JournalError(f"{path}:{number}: not a line of a journal: {error!r}; move it away") from error


@dataclass(slots=True)
class JournalCounts:
    """The counts of a journal so far."""

    tally: ProgressCounter = field(default_factory=ProgressCounter)
    parts: list[JsonObject] = field(default_factory=list)
    """The recorded facts of each part."""
    started: float | None = None
    """When the run began, in seconds since 1970; None if it did not."""
    resumed: float | None = None
    """When its latest part began, in seconds since 1970; None if it did not."""
    latest: float | None = None
    """When the latest trial was recorded, in seconds since 1970; None if unknown."""
    tick: float | None = None
    """The same on the machine's monotonic clock; None if the journal does not have it."""

    @property
    def command(self) -> str:
        """The command of the latest part; ``pytest ...`` for a part that only merged runs."""
        latest = self.parts[-1:]
        return "pytest ..." if is_merged(latest) else "".join(str(part.get("command", "")) for part in latest)

    @property
    def lacks_shards(self) -> bool:
        """Whether it was merged without some of the shards, so that pytest can't resume it."""
        return is_merged(self.parts) and bool(missing_shards(self.parts))

    def clock(self, now: float, tick: float | None = None) -> float:
        """Return the time on the clock that measures the pace of trials.

        ``now`` is the time of day, which may have been changed; ``tick`` is the monotonic clock if the run is on this
        machine, else None.
        """
        if self.tick is None or self.latest is None:
            return now
        return self.tick + max(0.0, now - self.latest) if tick is None else tick

    def take(self, line: JournalLine[RecordedTrial]) -> None:
        """Count one line; KeyError, TypeError or ValueError if it is invalid."""
        if line.trial is not None:
            self.latest = line.at if line.at is not None else self.latest
            self.tick = line.tick
            self.tally.take(counted_trial(line.trial), line.at if line.tick is None else line.tick)
        elif line.spent is not None:
            self.tally.spent += line.spent
        elif line.part is not None:
            shard_of(line.part)  # raises if it is invalid
            self.parts.append(line.part)
            self.resumed = datetime.fromisoformat(line.part["started"]).timestamp()
            self.started = self.resumed if self.started is None else self.started
            self.tally.begin({case["key"]: (case["suite"], case["subject"]) for case in line.planned})


def counted_trial(trial: RecordedTrial) -> CountedTrial:
    """Return a trial in the form that progress counts."""
    return CountedTrial(
        key=trial.key,
        group=(trial.suite, trial.subject),
        verdict=trial.verdict,
        seconds=trial.seconds + trial.learning_seconds,
        bill=trial.bill,
        judge=total([trial.judge_bill, trial.simulator]),
        unit=unit_of(trial.case, trial.labels.chain),
        samples=trial.solutions.samples if trial.solutions else None,
    )


class Follower:
    """Reads a journal incrementally; a journal that was truncated or replaced is read again from the start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._forget()

    def _forget(self) -> None:
        self._counts = JournalCounts()
        self._offset = self._lines = 0
        self._before = b""

    def read(self) -> JournalCounts:
        """Return the counts so far; an incomplete last line is left for the next call, a missing journal is empty."""
        try:
            with self._path.open("rb") as file:
                # A journal that was truncated or replaced has different bytes before the last read position, or none.
                file.seek(self._offset - len(self._before))
                if file.read(len(self._before)) != self._before:
                    self._forget()
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._lines += 1
                    with _naming(self._path, self._lines):
                        self._counts.take(decoded_line(line, _LIGHT))
                    self._offset += len(line)
                    self._before = line[-_REMEMBERED:]
        except FileNotFoundError:
            self._forget()
        except OSError as error:
            raise JournalError(f"{self._path}: {error.strerror}") from error
        return self._counts
