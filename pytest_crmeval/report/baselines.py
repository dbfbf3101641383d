"""The report that a run is compared with: a file, a run, or a committed file."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pytest_crmeval.journal.places import NoRunError, is_of, place_of, report_beside
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.report import Report

GIT = "git:"
DEFAULT = "baseline.json"
"""The default path of a project's baseline."""
PATIENCE = 60.0
"""Seconds for git to find a file."""


class BaselineError(Exception):
    """A baseline that can't be read; the message says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A report to compare with, and how it was named."""

    source: str
    report: Report


def load(given: str, folder: Path, root: Path, *, here: Path | None = None, path: str = "") -> Baseline:
    """Return the baseline that is named by a file, by a run of the reports ``folder``, or by ``git:REF[:PATH]``.

    ``root`` is the project's folder; ``path`` is the baseline in it if only a commit is named.
    """
    if given.startswith(GIT):
        return Baseline(source=given, report=_committed(given, root, path or DEFAULT))
    try:
        place = place_of(given, folder, here)
    except NoRunError as error:
        raise BaselineError(str(error)) from error
    file = report_beside(place) if place.suffix == ".jsonl" else place
    if file is None:
        raise BaselineError(f"{given!r}: this run has no report yet")
    try:
        return Baseline(source=given, report=reports.load(file))
    except reports.ReportError as error:
        raise BaselineError(str(error)) from error


def is_of_run(given: str, folder: Path, run: str, here: Path | None = None) -> bool:
    """Whether a baseline is the run itself, which can't be compared with itself."""
    try:
        return not given.startswith(GIT) and is_of(place_of(given, folder, here), folder / run)
    except NoRunError:
        return False


def _committed(given: str, root: Path, default: str) -> Report:
    """Return the report in a commit; its path is relative to the project's folder, wherever the repository starts."""
    ref, _, path = given.removeprefix(GIT).partition(":")
    if not ref or ref.startswith("-"):
        raise BaselineError(f"{given!r}: must be git:REF or git:REF:PATH, for example git:main:{default}")
    command = ["git", "-C", str(root), "show", f"{ref}:./{path or default}"]
    try:
        text = subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE).stdout  # noqa: S603
        return reports.read(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise BaselineError(f"{given!r}: not a report: {reports.why_not(error)}") from error
    except FileNotFoundError as error:
        raise BaselineError(f"{given!r}: git is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise BaselineError(f"{given!r}: git did not answer within {PATIENCE:.0f} s") from error
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise BaselineError(f"{given!r}: {lines[0]}") from error
