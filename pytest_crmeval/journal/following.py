"""A journal that somebody else is writing, read as it grows: nothing is read twice."""

import json
import math
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.shard import is_merged, missing_shards, shard_of
from pytest_crmeval.journal.progress import Outcome, Tally

_REMEMBERED = 64
"""Bytes before the place that was read to: if they have changed, it is another journal."""


class UnreadableError(Exception):
    """A journal that can't be read; the message says which and why."""


@dataclass(slots=True)
class Followed:
    """What a journal has told so far."""

    tally: Tally = field(default_factory=Tally)
    parts: list[JsonObject] = field(default_factory=list)
    """What each part says of itself."""
    started: float | None = None
    """When the run began, and when its latest part did: seconds since 1970; None if it did not."""
    resumed: float | None = None
    latest: float | None = None
    """When the latest trial was recorded; None if nobody has said."""
    tick: float | None = None
    """The same on the machine's monotonic clock; None if the journal does not have it."""

    @property
    def command(self) -> str:
        """The latest part's; of one that only merged, what pytest would have to be told, as far as anybody knows."""
        latest = self.parts[-1:]
        return "pytest ..." if is_merged(latest) else "".join(str(part.get("command", "")) for part in latest)

    @property
    def lacks_shards(self) -> bool:
        """Whether it was merged, and not of everything: pytest can't go on with it."""
        return is_merged(self.parts) and bool(missing_shards(self.parts))

    def clock(self, now: float, tick: float | None = None) -> float:
        """Return the time on the clock that measures the pace of trials.

        ``now`` is the time of day, which may have been changed; ``tick`` is the monotonic clock if the run is on this
        machine, else None.
        """
        if self.tick is None or self.latest is None:
            return now
        return self.tick + max(0.0, now - self.latest) if tick is None else tick

    def take(self, record: dict[str, Any]) -> None:
        """Take one line; KeyError, TypeError, AttributeError or ValueError if it is none."""
        if "trial" in record:
            at, tick = _time(record, "at"), _time(record, "tick")
            self.latest = at if at is not None else self.latest
            self.tick = tick
            self.tally.take(Outcome.from_dict(record["trial"]), at if tick is None else tick)
        elif "spent" in record:
            self.tally.spent += float(record["spent"])
        elif "red" not in record:
            shard_of(record["part"])  # what is kept of it can be read
            self.parts.append(record["part"])
            self.resumed = datetime.fromisoformat(record["part"]["started"]).timestamp()
            self.started = self.resumed if self.started is None else self.started
            self.tally.begin({case["key"]: (case["suite"], case["subject"]) for case in record["planned"]})


def _time(record: dict[str, Any], name: str) -> float | None:
    at = float(record[name]) if name in record else None
    if at is not None and not math.isfinite(at):
        raise ValueError(f"invalid time {at}")
    return at


class Follower:
    """Reads a journal from where it stopped the last time; one that was cut or replaced is read anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._forget()

    def read(self) -> Followed:
        """Return what the journal tells by now; a torn last line is left for the next time, a missing one is empty."""
        try:
            with self._path.open("rb") as file:
                if not self._is_the_same(file):
                    self._forget()
                self._go_on(file)
        except FileNotFoundError:
            self._forget()
        except OSError as error:
            raise UnreadableError(f"{self._path}: {error.strerror}") from error
        return self._followed

    def _forget(self) -> None:
        self._followed = Followed()
        self._offset = self._lines = 0
        self._before = b""

    def _is_the_same(self, file: BinaryIO) -> bool:
        """Whether what was read is still there: a journal that was cut has other bytes in that place, or none."""
        file.seek(self._offset - len(self._before))
        return file.read(len(self._before)) == self._before

    def _go_on(self, file: BinaryIO) -> None:
        file.seek(self._offset)
        for line in file:
            if not line.endswith(b"\n"):
                break
            self._lines += 1
            self._take(line)
            self._offset += len(line)
            self._before = line[-_REMEMBERED:]

    def _take(self, line: bytes) -> None:
        try:
            self._followed.take(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnreadableError(
                f"{self._path}:{self._lines}: not a line of a journal: {error!r}; move it away"
            ) from error
