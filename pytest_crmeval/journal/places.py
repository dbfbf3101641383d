"""Finds a run by its id, or by a path to its folder, its journal or its report."""

from pathlib import Path

from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.jobs import LOG
from pytest_crmeval.journal.jobs import NAME as JOB


class NoRunError(Exception):
    """There is no run at the given path; the message says what to give instead."""


def place_of(given: str, reports: Path, here: Path | None = None) -> Path:
    """Return the journal of a run, or its report if there is no journal; an id takes precedence over a path."""
    path = (here or Path()) / Path(given).expanduser()
    if path.name in {JOB, LOG}:
        path = path.parent
    candidates = [] if Path(given).name != given else _in(reports / given)
    candidates += [path] if _is_file(path) else _in(path)
    for candidate in candidates:
        if _is_file(candidate):
            return candidate
    if _is_file(path, folder=True):
        raise NoRunError(f"{given!r}: the folder has no journal ({JOURNAL}); give the folder of a run")
    raise NoRunError(f"{given!r}: no run in {reports} has this id, and there is no such file or folder")


def is_of(place: Path, run: Path) -> bool:
    """Whether a journal or report belongs to the run with the folder ``run``."""
    return place.resolve() in [candidate.resolve() for candidate in _in(run)]


def journal_beside(report: Path, run: str) -> Path | None:
    """Return the journal next to a report, which may have been renamed; None if there is none."""
    journals = (report.parent / name / JOURNAL for name in (run, report.stem))
    return next((journal for journal in journals if journal.is_file()), None)


def report_beside(journal: Path) -> Path | None:
    """Return the report of the run with this journal; None if there is none yet."""
    folder = journal.resolve().parent
    report = folder.with_name(f"{folder.name}.json")
    return report if report.is_file() else None


def _is_file(path: Path, *, folder: bool = False) -> bool:
    try:
        return path.is_dir() if folder else path.is_file()
    except OSError:  # the name is too long, or the folder can't be read
        return False


def _in(run: Path) -> list[Path]:
    return [run / JOURNAL, run.with_name(f"{run.name}.json")] if run.name else []
