"""`crmeval report`: a run as figures, as a page, as Markdown or as JSON."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from pytest_crmeval.cli.places import add_reports, reports_of
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.journal.annotations import annotations_in
from pytest_crmeval.journal.places import NoRunError, place_of, report_beside
from pytest_crmeval.render import learning as curves
from pytest_crmeval.render import summary
from pytest_crmeval.render.page.beside import folder_beside
from pytest_crmeval.report import costs as bills
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.report import Report

HELP = """\
Show the figures of a run, or write them in another format: --html is a page that a browser can open from disk, --md a
summary for a pull request, --json the report itself. RUN is an id, or the path of a report or of a run folder.

    crmeval report                                  # the figures of the latest run
    crmeval report nightly --html                   # writes reports/nightly.html, and prints its path
    crmeval report nightly --html -o out/run.html   # and out/run/page/, if the dialogues don't fit into one file
    crmeval report --md >> "$GITHUB_STEP_SUMMARY"
    crmeval report nightly --json | jq '.results[].pass_rate'

Exit status: 0; 2 if there is no such report, or the output can't be written.
"""
STDOUT = Path("-")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "run", nargs="?", default="latest", metavar="RUN", help="id or path of the run (default: the latest)"
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument(
        "--html", action="store_true", help="write an HTML page, next to the report or to the file of -o"
    )
    forms.add_argument("--md", action="store_true", help="print a summary in Markdown")
    forms.add_argument("--json", action="store_true", help="print the report as it is stored")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="file to write (default: standard output)")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Show a run."""
    path = _place(options)
    try:
        report = reports.load(path)
    except reports.ReportError as error:
        raise UsageError(error) from error
    if options.html:
        _put(lambda: _page(report, path, options.output))
    elif options.output in (None, STDOUT):
        sys.stdout.write(_text(report, path, options))
    else:
        text = _text(report, path, options)
        _put(lambda: options.output.write_text(text, encoding="utf-8"))
    return 0


def _place(options: argparse.Namespace) -> Path:
    """Return the path of the named report."""
    folder = reports_of(options)
    report = folder / f"{options.run}.json"
    if Path(options.run).name == options.run and report.is_file():
        return report
    try:
        found = place_of(options.run, folder)
    except NoRunError as error:
        raise UsageError(error) from error
    beside = found if found.suffix == ".json" else report_beside(found)
    if beside is None:
        raise UsageError(f"{options.run!r} has no report yet; to see its progress: crmeval status {options.run}")
    return beside


def _text(report: Report, path: Path, options: argparse.Namespace) -> str:
    """Return a report in the requested form."""
    if options.json:
        return path.read_text(encoding="utf-8")
    if options.md:
        from pytest_crmeval.render.markdown import report_page

        return report_page(report)
    head = f"run {report.run['id']}, {report.run['started']}"
    figures = [
        *summary.table(report),
        *bills.lines(report),
        *curves.lines(report),
        *summary.invalid(report),
        *summary.missing(report),
        *summary.people(report, annotations_in(folder_beside(path, report))),
    ]
    return "\n".join([head, *figures, *summary.omissions(report), *summary.details(report)]) + "\n"


def _page(report: Report, path: Path, output: Path | None) -> None:
    """Write the page, and print its path."""
    from pytest_crmeval.render import page

    if output == STDOUT:
        raise UsageError("a page can't be written to standard output; name a file with -o")
    target = output or path.resolve().with_suffix(".html")
    page.save(report, page.folder_beside(path, report), target, page.baseline_beside(path, report))
    sys.stdout.write(f"{summary.short(target)}\n")


def _put(write: Callable[[], object]) -> None:
    try:
        write()
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
