"""The reports of runs, loaded when they are looked at."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import RLock

from pytest_crmeval.domain.records import prepare
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.index import current_head, end_of
from pytest_crmeval.journal.reader import JournalError, read
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.compare import compare
from pytest_crmeval.report.report import Report, SubjectSummary

KEPT = 4
"""Reports that stay in memory."""


class UnreadableRunError(Exception):
    """Neither the report nor the journal of a run can be read; the message has the reason."""


class Library:
    """Loads reports, one at a time, and keeps the ones that were used last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], tuple[Report, str]] = OrderedDict()
        self._lock = RLock()
        for shape in (Trial, SubjectSummary):
            prepare(shape)

    def report(self, folder: Path, stamp: str) -> tuple[Report, str]:
        """Return the report of a run, and a note if it had to be made from the journal; UnreadableRunError."""
        return self._once((str(folder), stamp), lambda: _loaded(folder))

    def compared(self, folder: Path, stamp: str, baseline: Report) -> Report:
        """Return the report of a run, compared with another run instead of its baseline."""
        report, _ = self.report(folder, stamp)
        name = str(baseline.run["id"])
        return self._once(
            (str(folder), stamp, name, str(baseline.run.get("ended"))),
            lambda: (replace(report, comparison=compare(report, baseline, source=name)), ""),
        )[0]

    def _once(self, key: tuple[str, ...], make: Callable[[], tuple[Report, str]]) -> tuple[Report, str]:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


def _loaded(folder: Path) -> tuple[Report, str]:
    path, journal = folder.with_name(f"{folder.name}.json"), folder / JOURNAL
    is_damaged = path.is_file() and end_of(folder) is None
    note = ""
    if is_damaged or current_head(folder) or not journal.is_file():
        try:
            return reports.load(path), ""
        except reports.ReportError as error:
            if not journal.is_file():
                raise UnreadableRunError(str(error)) from error
            note = f"The report can't be read, so this page was made from the journal: {error}"
    return _from_journal(folder, path, note), note


def _from_journal(folder: Path, path: Path, note: str) -> Report:
    """Return the report of the trials so far."""
    try:
        past = read(folder / JOURNAL)
    except JournalError as error:
        raise UnreadableRunError("; ".join(filter(None, [str(error), note]))) from error
    if not past.parts:
        raise UnreadableRunError(f"{folder.name} has not played anything yet")
    facts = {
        "id": folder.name,
        "started": past.parts[0]["started"],
        "spent": round(past.spent, 8),
        "parts": past.parts,
        **({"red": sorted(past.red)} if past.red else {}),
    }
    try:
        return reports.build(facts, past.trials, past.planned.values())
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableRunError(f"{path}: {error!r}") from error
