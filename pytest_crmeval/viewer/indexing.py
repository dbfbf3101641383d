"""Fills the index in the background: comparisons for the trends, and the words of all dialogues."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import msgspec

from pytest_crmeval.report.compare import compare
from pytest_crmeval.viewer.catalogue import Catalogue, RunEntry
from pytest_crmeval.viewer.index_file import IndexFile
from pytest_crmeval.viewer.library import Library, UnreadableRunError
from pytest_crmeval.viewer.search import Search
from pytest_crmeval.viewer.trends import Changes, TrendChange, change_of, pairs_of

START = 0.2
"""Seconds that the first page has for itself."""
EVERY = 2.0
"""Seconds between two looks for something new."""
GROWING = 10.0
"""Seconds between two looks at the dialogues of a run in progress."""
BREATH = 0.01
"""Seconds of rest after each piece of work, so that pages are served in between."""
_CHANGES = msgspec.json.Decoder(list[TrendChange])


class Indexer:
    """A thread that compares runs and reads dialogues, the newest first."""

    def __init__(self, catalogue: Catalogue, index: IndexFile, search: Search) -> None:
        self.status = ""
        """What it is doing; empty if the index is complete."""
        self._catalogue = catalogue
        self._index = index
        self._search = search
        self._library = Library()
        self._changes: dict[tuple[str, str], tuple[str, Sequence[TrendChange]]] = {
            (after, before): (stamps, _CHANGES.decode(found))
            for after, before, stamps, found in index.rows("select after, before, stamps, contrasts from changes")
        }
        self._looked: dict[Path, float] = {}
        self._over, self._filled = Event(), Event()
        self._thread = Thread(target=self._run, name="crmeval-index", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its current piece of work."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def is_idle(self) -> bool:
        """Whether everything that there was at the last look is in the index."""
        return self._filled.is_set() and not self.status

    def changes(self, runs: Sequence[RunEntry]) -> Changes:
        """Return the comparisons that have been made and are still true."""
        found: dict[tuple[str, str], Sequence[TrendChange]] = {}
        for pair in pairs_of(runs):
            with suppress(KeyError):  # a run was deleted in the meantime
                stamps, changes = self._changes[self._key(pair)]
                if stamps == self._stamps(pair):
                    found[pair] = changes
        return found

    def _run(self) -> None:
        while not self._over.wait(EVERY if self._filled.is_set() else START):
            self._fill()
            self._filled.set()

    def _fill(self) -> None:
        """Do what there is to do."""
        runs = self._catalogue.runs()
        known = self.changes(runs)
        pairs = [pair for pair in pairs_of(runs) if pair not in known]
        self._do(pairs, "comparing runs: {} left", self._compare)
        self._do([run for run in runs if not self._is_searchable(run)], "reading dialogues: {} runs left", self._read)
        self.status = ""

    def _do(self, things: Sequence[object], status: str, work: Callable[..., None]) -> None:
        for done, thing in enumerate(things):
            if self._over.wait(BREATH):
                return
            self.status = status.format(len(things) - done)
            try:
                work(thing)
            except KeyError:  # the run was deleted in the meantime
                continue

    def _compare(self, pair: tuple[str, str]) -> None:
        key, stamps = self._key(pair), self._stamps(pair)
        try:
            after, before = (self._library.report(self._folder(run), self._catalogue.stamp(run))[0] for run in pair)
            changes = [change_of(contrast) for contrast in compare(after, before).contrasts]
        except UnreadableRunError:
            changes = []
        with self._index.writing() as connection:
            row = (*key, stamps, msgspec.json.encode(changes))
            connection.execute("insert or replace into changes values (?, ?, ?, ?)", row)
        self._changes[key] = stamps, changes

    def _read(self, run: RunEntry) -> None:
        folder = self._folder(run.id)
        self._looked[folder] = time.monotonic()
        for _ in self._search.read(folder, self._catalogue.stamp(run.id)):
            if self._over.wait(BREATH):
                return

    def _is_searchable(self, run: RunEntry) -> bool:
        """Whether the dialogues of a run need not be looked at now."""
        folder = self._folder(run.id)
        if run.is_running and time.monotonic() - self._looked.get(folder, -GROWING) < GROWING:
            return True
        return self._search.is_current(folder, self._catalogue.stamp(run.id))

    def _folder(self, run: str) -> Path:
        folder = self._catalogue.folder(run)
        if folder is None:
            raise KeyError(run)
        return folder

    def _key(self, pair: tuple[str, str]) -> tuple[str, str]:
        after, before = map(self._folder, pair)
        return str(after), str(before)

    def _stamps(self, pair: tuple[str, str]) -> str:
        return " | ".join(map(self._catalogue.stamp, pair))
