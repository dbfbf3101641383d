"""The append-only journal of a run: what is in it is not lost."""

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Self

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import Trial


class JournalError(Exception):
    """A journal that can't be read or written; the message says which and why."""


@dataclass(slots=True)
class Past:
    """What a journal tells: the parts of the run so far, and the last trial of each case."""

    parts: list[JsonObject] = field(default_factory=list)
    trials: dict[str, Trial] = field(default_factory=dict)


class Journal:
    """A journal that this process, and no other, is writing."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open for appending; a last line that a crash cut off is taken away."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab+")
        except OSError as error:
            raise JournalError(
                f"{path}: {error.strerror}; choose a folder that can be written with crmeval_reports"
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise JournalError(f"{path}: another process is writing this run; wait for it, or stop it") from error
        _cut_torn_line(file)
        return cls(file)

    def part(self, part: JsonObject) -> None:
        """Write that a part of the run begins."""
        self._write({"part": part})

    def trial(self, trial: Trial) -> None:
        """Write how a case went."""
        self._write({"trial": trial.to_dict()})

    def close(self) -> None:
        """Let others write."""
        self._file.close()

    def _write(self, record: JsonObject) -> None:
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def read(path: Path) -> Past:
    """Return what the journal tells; a missing one tells nothing, a torn last line did not happen."""
    past = Past()
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    _take(past, _parsed(line, path, number))
    except FileNotFoundError:
        return past
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}") from error
    return past


def _parsed(line: bytes, path: Path, number: int) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
        if "trial" in record:
            return {"trial": Trial.from_dict(record["trial"])}
        return {"part": {"started": record["part"]["started"], "command": record["part"]["command"]}}
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError(f"{path}:{number}: not a line of a journal: {error!r}; move it away") from error


def _take(past: Past, record: Mapping[str, Any]) -> None:
    if "part" in record:
        past.parts.append(record["part"])
    else:
        trial: Trial = record["trial"]
        past.trials[trial.planned.key] = trial


def _cut_torn_line(file: BinaryIO) -> None:
    file.seek(0)
    whole = file.read().rfind(b"\n") + 1
    file.truncate(whole)
