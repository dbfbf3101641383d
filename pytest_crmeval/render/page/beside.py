"""Files beside a report: the folder of its run, and the baseline that it was compared with."""

from collections.abc import Iterator
from pathlib import Path

from pytest_crmeval.report import files as reports
from pytest_crmeval.report.report import Report


def folder_beside(path: Path, report: Report) -> Path:
    """Return the folder of the run of a report, which may have been renamed; the folder may not exist."""
    real = path.resolve()
    own = real.parent / str(report.run["id"])
    return own if own.is_dir() else real.with_suffix("")


def baseline_beside(path: Path, report: Report) -> tuple[Report, Path] | None:
    """Return the baseline with the folder of its run; None if there is none, or it no longer exists.

    Without it the page has all figures of the comparison, but not the dialogues of the baseline.
    """
    for place in _candidates(path, report):
        try:
            baseline = reports.load(place)
        except reports.ReportError:
            continue  # moved, or not a file: a commit, for example
        return baseline, folder_beside(place, baseline)
    return None


def _candidates(path: Path, report: Report) -> Iterator[Path]:
    """Yield the possible paths of the baseline: its source, and its id among the reports."""
    if report.comparison is None:
        return
    baseline = report.comparison.baseline
    source, name = str(baseline.get("source", "")), str(baseline.get("id", ""))
    if source and not source.startswith("git:"):
        yield Path(source) if source.endswith(".json") else Path(f"{source}.json")
    if name and Path(name).name == name:
        yield path.resolve().with_name(f"{name}.json")
