"""`crmeval report`: the figures of a run."""

import argparse
import sys

from pytest_crmeval.cli.places import add_reports, reports_of
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.runs import bills, curves, reports, summary

HELP = "Show the figures of a run."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("run", nargs="?", default="latest", help="id of the run (default: the latest)")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Show a run."""
    try:
        report = reports.load(reports_of(options) / f"{options.run}.json")
    except reports.ReportError as error:
        raise UsageError(error) from error
    head = f"run {report.run['id']}, {report.run['started']}"
    figures = [
        *summary.table(report),
        *bills.lines(report),
        *curves.lines(report),
        *summary.invalid(report),
        *summary.missing(report),
    ]
    lines = [head, *figures, *summary.omissions(report), *summary.details(report)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0
