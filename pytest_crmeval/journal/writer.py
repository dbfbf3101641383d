"""The only writer of journals: append-only, and synced to disk before a trial counts."""

import fcntl
import os
import time
from collections.abc import Iterable, Sequence
from io import FileIO
from pathlib import Path
from typing import Self

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import PlannedCase, Trial, flat
from pytest_crmeval.domain.wire import encoded_quickly
from pytest_crmeval.journal.reader import JournalError, RunRecord, spent_on

_BLOCK = 2**16
ROUNDING = 1e-9
"""Dollars; smaller differences are rounding errors."""


class JournalWriter:
    """A journal that only this process writes."""

    def __init__(self, file: FileIO) -> None:
        self._file = file

    @classmethod
    def open(cls, path: Path, *, after: int | None = None) -> Self:
        """Open a journal for appending, after the bytes that the caller has read; an incomplete last line is cut."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab+", buffering=0)
        except OSError as error:
            raise JournalError(f"{path}: {error.strerror}; choose a writable folder with crmeval_reports") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise JournalError(f"{path}: another process is writing this run; wait for it, or stop it") from error
        whole = _cut_torn_line(file)
        if after is not None and whole != after:
            file.close()
            raise JournalError(f"{path}: another process has written to this run in the meantime; start again")
        return cls(file)

    def part(self, part: JsonObject, planned: Sequence[PlannedCase]) -> None:
        """Write the start of a part of the run, with its planned cases."""
        self._write({"part": part, "planned": [case.to_dict() for case in planned]})

    def trial(self, trial: Trial) -> None:
        """Write the result of a case with the time of day and the monotonic clock."""
        at, tick = round(time.time(), 3), round(time.monotonic(), 3)
        self._write({"trial": flat(trial), "at": at, "tick": tick})

    def append_trial(self, content: bytes) -> None:
        """Write a trial that is JSON already, with the same times; it is on disk when ``sync`` returns."""
        at, tick = round(time.time(), 3), round(time.monotonic(), 3)
        self._append(b'{"trial":%b,"at":%b,"tick":%b}\n' % (content, repr(at).encode(), repr(tick).encode()))

    def sync(self) -> None:
        """Wait until everything written is on disk."""
        os.fsync(self._file.fileno())

    def red(self, key: str) -> None:
        """Write that the test of a case failed outside of its trial."""
        self._write({"red": key})

    def spent(self, cost: float) -> None:
        """Write a cost that belongs to no trial."""
        self._write({"spent": cost})

    def check_in_place(self) -> None:
        """Raise JournalError if the file was removed or replaced, because further lines would be lost."""
        try:
            in_place = os.path.samestat(Path(self._file.name).stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            in_place = False
        if not in_place:
            raise JournalError(f"{self._file.name} was removed or replaced during the run")

    def close(self) -> None:
        """Close the file, so that other processes can write it."""
        self._file.close()

    def _write(self, record: JsonObject) -> None:
        """Write one line, and wait until it is on disk."""
        self._append(_line(record), sync=True)

    def _append(self, content: bytes, *, sync: bool = False) -> None:
        """Write a whole line; if the disk is full, the part that was written is removed."""
        self.check_in_place()
        line = memoryview(content)
        before = os.fstat(self._file.fileno()).st_size
        try:
            while line:
                line = line[self._file.write(line) :]
            if sync:
                self.sync()
        except OSError:
            self._file.truncate(before)
            raise


def compose(path: Path, parts: Iterable[tuple[JsonObject, Sequence[PlannedCase]]], past: RunRecord) -> None:
    """Write the whole journal of a completed run: its parts with their planned cases, then the trials of ``past``."""
    trials = past.trials.values()
    unexplained = past.spent - sum(map(spent_on, trials))
    with path.open("xb") as file:
        for part, planned in parts:
            file.write(_line({"part": part, "planned": [case.to_dict() for case in planned]}))
        for trial in trials:
            file.write(_line({"trial": flat(trial)}))
        for key in sorted(past.red):
            file.write(_line({"red": key}))
        if abs(unexplained) > ROUNDING:
            file.write(_line({"spent": unexplained}))
        file.flush()
        os.fsync(file.fileno())


def _line(record: JsonObject) -> bytes:
    return encoded_quickly(record) + b"\n"


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
