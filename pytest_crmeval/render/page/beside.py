"""What lies beside a report: the folder of its run, and the baseline that it was compared with."""

from collections.abc import Iterator
from pathlib import Path

from pytest_crmeval.report import files as reports
from pytest_crmeval.report.report import Report


def folder_beside(path: Path, report: Report) -> Path:
    """Return the folder of the run whose report is there, perhaps renamed; it need not be there."""
    real = path.resolve()
    own = real.parent / str(report.run["id"])
    return own if own.is_dir() else real.with_suffix("")


def baseline_beside(path: Path, report: Report) -> tuple[Report, Path] | None:
    """Return the baseline with the folder of its run; None if there is none, or no more.

    Without it the page has all figures of the comparison, and lacks only the dialogues of before.
    """
    for place in _candidates(path, report):
        try:
            baseline = reports.load(place)
        except reports.ReportError:
            continue  # moved, or of another kind: a commit, for one
        return baseline, folder_beside(place, baseline)
    return None


def _candidates(path: Path, report: Report) -> Iterator[Path]:
    """Yield where the baseline may be: where it was named, or among the reports by its id."""
    if report.comparison is None:
        return
    told = report.comparison.baseline
    source, name = str(told.get("source", "")), str(told.get("id", ""))
    if source and not source.startswith("git:"):
        yield Path(source) if source.endswith(".json") else Path(f"{source}.json")
    if name and Path(name).name == name:
        yield path.resolve().with_name(f"{name}.json")
