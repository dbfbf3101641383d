"""Shows to those who watch the run what this process is playing, and the dialogues while they grow."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.messages import Message
from pytest_crmeval.domain.transcript import Exchange
from pytest_crmeval.domain.wire import written_turn
from pytest_crmeval.journal import live
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.trial_record import TrialRecord

EVERY = 1.0
"""Seconds between two writes: cases that take less are not shown, and cost nothing."""
SHOWN, LONGEST = 40, 2_000
"""Messages of a dialogue, and characters of a text, that are shown."""


class NowPlaying:
    """The cases that this process is playing."""

    def __init__(self, context: Context) -> None:
        self._run = context.options.folder
        self._worker = context.worker
        self._redactor = context.redactor
        self._records: dict[TrialRecord, float] = {}
        self._lock = Lock()
        self._busy = Event()
        self._thread: Thread | None = None
        self._written: object = None

    @contextmanager
    def playing(self, record: TrialRecord) -> Iterator[None]:
        """Show a trial while it is played."""
        with self._lock:
            self._records[record] = time.time()
            self._busy.set()
            if self._thread is None:
                self._thread = Thread(target=self._write, name="crmeval-live", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._records[record]

    def _write(self) -> None:
        """Write what has changed, once a second, as long as there is something to show."""
        while True:
            self._busy.wait()
            time.sleep(EVERY)
            with self._lock:
                records = list(self._records.items())
                if not records:
                    self._busy.clear()
            now = [(record.planned.key, len(record.said)) for record, _ in records]
            if now == self._written:
                continue
            try:
                live.write(self._run, self._worker, playing=[self._shown(*each) for each in records])
            except OSError:  # the folder is on another machine, or the disk is full: the run matters more
                return
            self._written = now

    def _shown(self, record: TrialRecord, since: float) -> JsonObject:
        planned = record.planned
        said = () if record.is_confidential else tuple(record.said[-SHOWN:])
        return {
            **{name: getattr(planned, name) for name in ("key", "suite", "subject", "case")},
            "since": round(since, 3),
            "confidential": record.is_confidential,
            "messages": self._redacted(said),
        }

    def _redacted(self, said: tuple[Message, ...]) -> Json:
        return _short(self._redactor.json(written_turn(Exchange(messages=said))["messages"])) if said else []


def _short(value: Json) -> Json:
    """Return a value with its long texts cut."""
    if isinstance(value, str):
        return cut(value, LONGEST)
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items()}
    return [_short(item) for item in value[:SHOWN]] if isinstance(value, list) else value
