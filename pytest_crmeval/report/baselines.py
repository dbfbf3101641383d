"""The report that a run is held against: a file, a run, or what is committed."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pytest_crmeval.journal.places import NoRunError, is_of, place_of, report_beside
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.report import Report

GIT = "git:"
DEFAULT = "baseline.json"
"""Where a project keeps its baseline, unless it says otherwise."""
PATIENCE = 60.0
"""Seconds for git to find a file."""


class BaselineError(Exception):
    """A baseline that can't be had; the message says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A report to hold another against, and how it was named."""

    source: str
    report: Report


def load(given: str, folder: Path, root: Path, *, here: Path | None = None, path: str = "") -> Baseline:
    """Return the baseline that is named by a file, by a run of the reports ``folder``, or by ``git:REF[:PATH]``.

    ``root`` is the project's folder; ``path`` is where a baseline is kept in it, for who names only a commit.
    """
    if given.startswith(GIT):
        return Baseline(source=given, report=_committed(given, root, path or DEFAULT))
    try:
        place = place_of(given, folder, here)
    except NoRunError as error:
        raise BaselineError(str(error)) from error
    return Baseline(source=given, report=_read(given, place))


def is_of_run(given: str, folder: Path, run: str, here: Path | None = None) -> bool:
    """Whether a baseline is the run itself: nobody is better than himself."""
    try:
        return not given.startswith(GIT) and is_of(place_of(given, folder, here), folder / run)
    except NoRunError:
        return False


def _read(given: str, place: Path) -> Report:
    path = report_beside(place) if place.suffix == ".jsonl" else place
    if path is None:
        raise BaselineError(f"{given!r}: this run has not come to a report")
    try:
        return reports.load(path)
    except reports.ReportError as error:
        raise BaselineError(str(error)) from error


def _committed(given: str, root: Path, default: str) -> Report:
    ref, _, path = given.removeprefix(GIT).partition(":")
    if not ref or ref.startswith("-"):
        raise BaselineError(f"{given!r}: write git:REF or git:REF:PATH, as git:main:{default}")
    text = _shown(given, root, f"{ref}:./{path or default}")
    try:
        return reports.read(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise BaselineError(f"{given!r}: not a report: {reports.why_not(error)}") from error


def _shown(given: str, root: Path, thing: str) -> bytes:
    """Return what git has at a place; a path is that from the project's folder, wherever the repository begins."""
    command = ["git", "-C", str(root), "show", thing]
    try:
        return subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE).stdout  # noqa: S603
    except FileNotFoundError as error:
        raise BaselineError(f"{given!r}: there is no git on this machine") from error
    except subprocess.TimeoutExpired as error:
        raise BaselineError(f"{given!r}: git did not answer in {PATIENCE:.0f} s") from error
    except subprocess.CalledProcessError as error:
        told = error.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise BaselineError(f"{given!r}: {told[0]}") from error
