"""The append-only journal of a run: what is in it is not lost."""

import fcntl
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Self

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.shard import shard_of
from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.domain.wire import parsed

_BLOCK = 2**16
ROUNDING = 1e-9
"""Dollars that adding up may leave."""


class JournalError(Exception):
    """A journal that can't be read or written; the message says which and why."""


@dataclass(slots=True)
class Past:
    """What a journal tells: the parts of the run so far, what they planned, and the last trial of each case."""

    parts: list[JsonObject] = field(default_factory=list)
    planned: dict[str, PlannedCase] = field(default_factory=dict)
    trials: dict[str, Trial] = field(default_factory=dict)
    red: set[str] = field(default_factory=set)
    """Cases whose test was red for another reason than its trial."""
    size: int = 0
    """How much of the file was read."""
    spent: float = 0.0
    """Dollars that all trials ever taken have cost, also those that were repeated or forgotten later."""

    def begin(self, part: JsonObject, planned: Sequence[PlannedCase]) -> None:
        """Take another part; what was tried of a case that has changed since was another case."""
        self.parts.append(part)
        for case in planned:
            self.planned[case.key] = case
            trial = self.trials.get(case.key)
            if trial and not trial.planned.same_as(case):
                del self.trials[case.key]

    def take(self, trial: Trial) -> None:
        """Take how a case went; what was said of its test before is over."""
        self.trials[trial.planned.key] = trial
        self.spent += spent_on(trial)
        self.red.discard(trial.planned.key)


def spent_on(trial: Trial) -> float:
    """Return the dollars that a trial has cost, its judge included; what was replayed has cost nothing."""
    bills = (trial.bill, trial.judgement.bill if trial.judgement else None)
    return sum(bill.spent for bill in bills if bill)


class Journal:
    """A journal that this process, and no other, is writing."""

    def __init__(self, file: FileIO) -> None:
        self._file = file

    @classmethod
    def open(cls, path: Path, *, after: int | None = None) -> Self:
        """Open for appending, after what the caller has read; a last line that a crash cut off is taken away."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab+", buffering=0)
        except OSError as error:
            raise JournalError(
                f"{path}: {error.strerror}; choose a folder that can be written with crmeval_reports"
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise JournalError(f"{path}: another process is writing this run; wait for it, or stop it") from error
        whole = _cut_torn_line(file)
        if after is not None and whole != after:
            file.close()
            raise JournalError(f"{path}: another process has written this run meanwhile; start again")
        return cls(file)

    def part(self, part: JsonObject, planned: Sequence[PlannedCase]) -> None:
        """Write that a part of the run begins, and what it means to play."""
        self._write({"part": part, "planned": [case.to_dict() for case in planned]})

    def trial(self, trial: Trial) -> None:
        """Write the result of a case with the time of day and the monotonic clock."""
        at, tick = round(time.time(), 3), round(time.monotonic(), 3)
        self._write({"trial": trial.to_dict(), "at": at, "tick": tick})

    def red(self, key: str) -> None:
        """Write that the test of a case is red, whatever its trial says."""
        self._write({"red": key})

    def spent(self, cost: float) -> None:
        """Write what was paid and is in no trial."""
        self._write({"spent": cost})

    def check_in_place(self) -> None:
        """Raise JournalError if the file was removed or replaced: what is written to it now would be lost."""
        try:
            in_place = os.path.samestat(Path(self._file.name).stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            in_place = False
        if not in_place:
            raise JournalError(f"{self._file.name} was removed or replaced during the run")

    def close(self) -> None:
        """Let others write."""
        self._file.close()

    def _write(self, record: JsonObject) -> None:
        """Write one line, whole: what a full disk took of it is taken back."""
        self.check_in_place()
        line = memoryview(_line(record))
        before = os.fstat(self._file.fileno()).st_size
        try:
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(before)
            raise


def compose(path: Path, parts: Iterable[tuple[JsonObject, Sequence[PlannedCase]]], past: Past) -> None:
    """Write the journal of a run that is over, at once: its parts with what they planned, then what ``past`` tells."""
    trials = past.trials.values()
    unexplained = past.spent - sum(map(spent_on, trials))
    with path.open("xb") as file:
        for part, planned in parts:
            file.write(_line({"part": part, "planned": [case.to_dict() for case in planned]}))
        for trial in trials:
            file.write(_line({"trial": trial.to_dict()}))
        for key in sorted(past.red):
            file.write(_line({"red": key}))
        if abs(unexplained) > ROUNDING:
            file.write(_line({"spent": unexplained}))
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> Past:
    """Return what the journal tells; a missing one tells nothing, a torn last line did not happen."""
    past = Past()
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    past.size += len(line)
                    _take(past, line, path, number)
    except FileNotFoundError:
        return past
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}") from error
    return past


def _take(past: Past, line: bytes, path: Path, number: int) -> None:
    try:
        record = parsed(line)
        if "trial" in record:
            past.take(Trial.from_dict(record["trial"], past.planned))
        elif "red" in record:
            past.red.add(record["red"])
        elif "spent" in record:
            past.spent += float(record["spent"])
        else:
            part = {**record["part"], "started": record["part"]["started"]}
            shard_of(part)  # what is kept of it can be read
            past.begin(part, [PlannedCase.from_dict(case) for case in record["planned"]])
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError(f"{path}:{number}: not a line of a journal: {error!r}; move it away") from error


def _line(record: JsonObject) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    # Half a surrogate pair, as in an argument that is no UTF-8, becomes its escape, which JSON reads back.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _cut_torn_line(file: FileIO) -> int:
    """Truncate the file after its last complete line and return its size; reads only the end of the file."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        place = file.read(end - start).rfind(b"\n")
        if place >= 0:
            return file.truncate(start + place + 1)
        end = start
    return file.truncate(0)
