"""What a run is doing now, for commands that watch it: a file per process, removed when the run ends."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.wire import decoded, encoded
from pytest_crmeval.journal.locks import Holder

FOLDER = "live"
SCHEMA = "crmeval.live/1"
CONTROLLER = "controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Playing:
    """A case that is being played."""

    worker: str
    key: str
    suite: str
    subject: str
    case: str
    since: float
    """Seconds since 1970."""
    confidential: bool
    messages: Sequence[JsonObject]
    """The dialogue so far, or its end; empty if it is confidential."""

    @property
    def seconds(self) -> float:
        """How long it has been played."""
        return max(0.0, time.time() - self.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """What all processes of a run are doing."""

    traffic: Sequence[str] = ()
    """Phrases about the server and the models: pauses, rate limits, retries."""
    playing: Sequence[Playing] = ()
    """The cases that are being played, the longest first."""


def write(run: Path, worker: str, **content: Any) -> None:  # noqa: ANN401 (JSON)
    """Write what a process is doing, completely or not at all; OSError if that fails."""
    path = run / FOLDER / f"{worker}.json"
    draft = path.with_suffix(".part")
    path.parent.mkdir(exist_ok=True)
    draft.write_bytes(encoded({"schema": SCHEMA, "process": Holder.of(os.getpid()).to_dict(), **content}))
    draft.replace(path)


def clear(run: Path) -> None:
    """Remove the files of all processes."""
    rmtree(run / FOLDER, ignore_errors=True)


def read(run: Path) -> LiveRun:
    """Return what the processes of a run are doing; files of processes that have died are ignored."""
    traffic: list[str] = []
    playing: list[Playing] = []
    for path in sorted((run / FOLDER).glob("*.json")):
        try:
            document = decoded(path.read_bytes())
            process = Holder.from_dict(document["process"])
            if process.host == os.uname().nodename and not process.is_here:
                continue
            traffic += map(str, document.get("traffic", ()))
            playing += _playing(path.stem, document.get("playing", ()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # replaced or removed at this moment
            continue
    return LiveRun(traffic=tuple(traffic), playing=tuple(sorted(playing, key=lambda each: each.since)))


def _playing(worker: str, found: Sequence[JsonObject]) -> Iterator[Playing]:
    for each in found:
        names = {name: str(each[name]) for name in ("key", "suite", "subject", "case")}
        yield Playing(
            worker=worker,
            since=float(str(each["since"])),
            confidential=bool(each["confidential"]),
            messages=list(each["messages"]),  # type: ignore[arg-type] # checked where it is shown
            **names,
        )
