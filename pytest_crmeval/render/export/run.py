"""A finished or running run, loaded for analysis."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_crmeval.domain.trial import Trial, in_order
from pytest_crmeval.journal.ids import JOURNAL, LATEST
from pytest_crmeval.journal.places import journal_beside, place_of
from pytest_crmeval.journal.reader import read
from pytest_crmeval.render.export.tables import TABLES, TableRow
from pytest_crmeval.report.files import load

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRun:
    """The trials of a run."""

    id: str
    started: str
    ended: str
    """When its latest trial ended; if that is not known, when it started."""
    trials: Sequence[Trial]
    folder: Path | None
    """The folder of the run with its transcripts; None if only the report is left."""

    def rows(self, table: str = "trials") -> Iterator[TableRow]:
        """Yield the rows of a table: trials, scores, turns, calls, usage or annotations."""
        _, rows_of = TABLES[table]
        for trial in self.trials:
            yield from rows_of(self.id, trial, self.folder)

    def to_pandas(self, table: str = "trials") -> "DataFrame":
        """Return a table as a data frame; pandas must be installed."""
        import pandas as pd

        columns = TABLES[table][0].__struct_fields__
        return pd.DataFrame([msgspec.structs.astuple(row) for row in self.rows(table)], columns=columns)


def load_run(run: str | Path = LATEST, reports: str | Path = "reports") -> LoadedRun:
    """Load a run, which may still be running, by its id in the folder ``reports`` or by a path to it.

    Raises NoRunError if there is no such run, and JournalError or ReportError if its files can't be read.
    """
    place = place_of(str(run), Path(reports))
    if place.name != JOURNAL:
        report = load(place)
        journal = journal_beside(place, str(report.run["id"]))
        if journal is None:
            facts = {"ended": report.run["started"], **report.run}
            times = {name: str(facts[name]) for name in ("started", "ended")}
            return LoadedRun(id=str(facts["id"]), **times, trials=report.trials, folder=None)
        place = journal
    folder = place.resolve().parent
    record = read(folder / JOURNAL)
    started = str(record.parts[0]["started"]) if record.parts else ""
    ended = datetime.fromtimestamp(record.latest, UTC).isoformat(timespec="seconds") if record.latest else started
    trials = in_order(record.trials.values())
    return LoadedRun(id=folder.name, started=started, ended=ended, trials=trials, folder=folder)
