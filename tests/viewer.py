"""A viewer over runs that were made without playing, with or without a server."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Self

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal import reader, transcripts
from pytest_crmeval.journal.locks import FolderLock
from pytest_crmeval.journal.writer import JournalWriter
from pytest_crmeval.report import files
from pytest_crmeval.report.report import Report
from pytest_crmeval.viewer.server import ViewServer
from pytest_crmeval.viewer.site import Site
from tests.kept_runs import ENDED, STARTED, keep, part
from tests.postgres.processes import eventually

ROOT = "/token/"


def keep_run(reports: Path, run: str, trials: Sequence[Trial], started: str = STARTED) -> Report:
    """Keep a finished run with journal, transcripts and report, which began at a time."""
    report = keep(reports, run, trials, parts=[part(started=started)])
    report = replace(report, run={**report.run, "started": started})
    files.save(report, reports / f"{run}.json")
    for trial in trials:
        transcripts.write(reports / run / "transcripts", trial)
    return report


@contextmanager
def site_of(*folders: Path) -> Iterator[Site]:
    """Yield a site without a server; its index is filled when it is asked to."""
    site = Site(folders, ROOT)
    try:
        yield site
    finally:
        site.close()


def filled(site: Site) -> Site:
    """Fill the index of a site, and return the site."""
    site.start()
    eventually(lambda: site.is_indexed, "the index is complete")
    return site


@contextmanager
def served(*folders: Path) -> Iterator[ViewServer]:
    """Serve runs to a browser."""
    with ViewServer(0) as server:
        server.site = Site(folders, server.root)
        server.site.start()
        thread = Thread(target=server.serve_forever, args=[0.05], daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
            server.site.close()


class RunInProgress:
    """A run that this process plays, step by step."""

    def __init__(self, reports: Path, run: str, planned: Sequence[Trial]) -> None:
        self._reports = reports
        self._run = run
        self._planned = planned
        folder = reports / run
        folder.mkdir(parents=True)
        self._lock: FolderLock | None = FolderLock.take(folder)
        self._journal = JournalWriter.open(folder / "trials.jsonl")
        self._journal.part(part(), [trial.planned for trial in planned])
        self._played: list[Trial] = []

    def play(self, count: int = 1) -> None:
        """Record the next trials with their dialogues."""
        start = len(self._played)
        for trial in self._planned[start : start + count]:
            transcripts.write(self._reports / self._run / "transcripts", trial)
            self._journal.trial(trial)
            self._played.append(trial)

    def end(self) -> None:
        """End the run as a process does that is not killed: with its report, and without its lock."""
        if self._lock is None:
            return
        self._journal.close()
        past = reader.read(self._reports / self._run / "trials.jsonl")
        facts: JsonObject = {"id": self._run, "started": STARTED, "ended": ENDED, "parts": past.parts}
        files.write(files.build(facts, past.trials, past.planned.values()), self._reports)
        self._lock.close()
        self._lock = None

    def __enter__(self) -> Self:
        """Return the run."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it, if it has not ended."""
        self.end()
