"""`crmeval`: what is not a test run. Never imports pytest."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from pytest_crmeval.runs import reports, summary

_LINT_HELP = """\
Look through conversations before they are played: cases that nobody can pass (a placeholder that nothing fills, a
value that nobody tells, ...), and what is merely odd, with counts and the first examples.

    crmeval lint evals/data/crm.jsonl
    crmeval lint data/*.jsonl --examples 10
    crmeval lint data/crm.jsonl --format json | jq '.kinds["unsaid-value"].examples'

Exit status: 1 if a case is invalid, 0 if none is, 2 if a file can't be opened or has no conversation.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except _UsageError as error:
        sys.stderr.write(f"crmeval: {error}\n")
        return 2
    return status


class _UsageError(Exception):
    """Something that the person who typed the command can mend."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="crmeval",
        description="Look at the cases and runs of pytest-crmeval. To run: pytest evals/ -n 3",
    )
    parser.add_argument("--version", action="version", version=f"crmeval {version('pytest-crmeval')}")
    commands = parser.add_subparsers(title="commands", required=True)
    _add_report(
        commands.add_parser("report", help="show the figures of a run", description="Show the figures of a run.")
    )
    _add_lint(
        commands.add_parser(
            "lint",
            help="look for cases that nobody can pass",
            description=_LINT_HELP,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    return parser


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", default="latest", help="id of the run (default: the latest)")
    parser.add_argument(
        "--reports", type=Path, default=Path("reports"), help="folder of the reports (default: reports)"
    )
    parser.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    try:
        report = reports.load(options.reports / f"{options.run}.json")
    except reports.ReportError as error:
        raise _UsageError(error) from error
    head = f"run {report.run['id']}, {report.run['started']}"
    lines = [head, *summary.table(report), *summary.invalid(report), *summary.details(report)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _add_lint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="conversations, in JSON Lines")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="for people (default) or programs")
    parser.add_argument("--examples", type=_count, default=3, metavar="N", help="examples of each kind (default: 3)")
    parser.set_defaults(command=_lint)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be 0 or more, not {number}")
    return number


def _lint(options: argparse.Namespace) -> int:
    from pytest_crmeval.crm.tools import check
    from pytest_crmeval.datasets.conversations import DatasetError
    from pytest_crmeval.datasets.lint import Lint
    from pytest_crmeval.datasets.listing import document, lines

    try:
        found = Lint(check, options.examples).look_through(options.files, _show_progress)
    except DatasetError as error:
        raise _UsageError(error) from error
    finally:
        _show_progress(0)
    if options.format == "json":
        sys.stdout.write(json.dumps(document(found), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(lines(found)) + "\n")
    return 1 if found.invalid else 0


def _show_progress(done: int) -> None:
    """Say how far it is, to a person; 0 takes it back."""
    if sys.stderr.isatty() and done % 100 == 0:
        sys.stderr.write(f"\r{done} conversations" if done else "\r\x1b[K")
        sys.stderr.flush()
