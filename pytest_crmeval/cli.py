"""`crmeval`: what is not a test run. Never imports pytest."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from pytest_crmeval.runs import reports, summary


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        return _report(options.reports, options.run)
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except reports.ReportError as error:
        sys.stderr.write(f"crmeval: {error}\n")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="crmeval",
        description="Look at the runs of pytest-crmeval. To start one: pytest evals/ -n 3",
    )
    parser.add_argument("--version", action="version", version=f"crmeval {version('pytest-crmeval')}")
    commands = parser.add_subparsers(title="commands", required=True)
    report = commands.add_parser("report", help="show the figures of a run", description="Show the figures of a run.")
    report.add_argument("run", nargs="?", default="latest", help="id of the run (default: the latest)")
    report.add_argument(
        "--reports", type=Path, default=Path("reports"), help="folder of the reports (default: reports)"
    )
    return parser


def _report(folder: Path, run: str) -> int:
    report = reports.load(folder / f"{run}.json")
    lines = [f"run {report.run['id']}, {report.run['started']}", *summary.table(report)]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    return 0
