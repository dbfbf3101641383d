"""`crmeval`: what is not a test run. Never imports pytest."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crmeval.runs import reports, summary

if TYPE_CHECKING:  # psycopg and msgspec are wanted only by those who play
    from pytest_crmeval.domain.conversation import Conversation
    from pytest_crmeval.domain.evidence import Reference
    from pytest_crmeval.ports.crm import Crm
    from pytest_crmeval.scoring.calibration import Calibration

_LINT_HELP = """\
Look through conversations before they are played: cases that nobody can pass (a placeholder that nothing fills, a
value that nobody tells, ...), and what is merely odd, with counts and the first examples.

    crmeval lint evals/data/crm.jsonl
    crmeval lint data/*.jsonl --examples 10
    crmeval lint data/crm.jsonl --format json | jq '.kinds["unsaid-value"].examples'

Exit status: 1 if a case is invalid, 0 if none is, 2 if a file can't be opened or has no conversation.
"""

_CALIBRATE_HELP = """\
See whether the scores can be believed: play a suite with agents whose every step is known. The oracle must always pass;
mute and parrot, which call nothing, never may; an oracle with one flaw must be caught, and one that does the same in
another way must be accepted, in 99 of 100 cases each. Needs no key; starts a PostgreSQL, or uses CRMEVAL_DSN.

    crmeval calibrate evals/data/crm.jsonl
    crmeval calibrate mine.jsonl --scorer state --tries 50
    crmeval calibrate mine.jsonl --format json > calibration.json

Exit status: 0 if the scores can be believed, 1 if not, 2 if there is nothing to play, or nothing to play it on.
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
    except KeyboardInterrupt:
        sys.stderr.write("crmeval: stopped\n")
        return 130  # as shells have it
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
    _add_calibrate(
        commands.add_parser(
            "calibrate",
            help="see whether scores can be believed",
            description=_CALIBRATE_HELP,
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


def _positive(text: str) -> int:
    number = _count(text)
    if not number:
        raise argparse.ArgumentTypeError("must be 1 or more")
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


def _add_calibrate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="SUITE", help="conversations, in JSON Lines")
    parser.add_argument(
        "--scorer",
        action="append",
        choices=("state", "calls", "reply", "clbench"),
        help="what decides the verdict; repeatable (default: state, calls and reply)",
    )
    parser.add_argument(
        "--invalid",
        choices=("report", "play"),
        default="report",
        help="leave out cases that nobody can pass (default), or play them all the same",
    )
    parser.add_argument("--tries", type=_positive, default=200, metavar="N", help="of each kind of flaw (default: 200)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="for people (default) or programs")
    parser.set_defaults(command=_calibrate)


def _calibrate(options: argparse.Namespace) -> int:
    import psycopg

    from pytest_crmeval.crm.embedded import ServerUnavailable
    from pytest_crmeval.datasets.conversations import DatasetError, index

    try:
        cases = [ref.read() for ref in index(options.files)]
        found = _calibrated(cases, options)
    except (DatasetError, ServerUnavailable) as error:
        raise _UsageError(error) from error
    except psycopg.OperationalError as error:
        raise _UsageError(f"PostgreSQL went away: {error}") from error
    finally:
        _show_progress(0)
    left_out = len(cases) - found.cases
    if options.format == "json":
        sys.stdout.write(json.dumps({**found.to_dict(), "invalid": left_out}, ensure_ascii=False, indent=2) + "\n")
    else:
        told = [f"{left_out} invalid conversations are left out", ""] if left_out else []
        sys.stdout.write("\n".join([*told, *found.lines()]) + "\n")
    return 0 if found.holds else 1


def _calibrated(cases: Sequence["Conversation"], options: argparse.Namespace) -> "Calibration":
    from pytest_crmeval.agents.scripted import mute, parrot
    from pytest_crmeval.crm.standalone import standalone_crm
    from pytest_crmeval.play.conversation import observe
    from pytest_crmeval.scoring.calibration import calibrate
    from pytest_crmeval.scoring.named import SCORERS

    scorers = options.scorer or ("state", "calls", "reply")
    with standalone_crm(os.environ.get("CRMEVAL_DSN")) as crm:
        references = _references(cases, crm, play_invalid=options.invalid == "play")
        if not references:
            raise _UsageError("no case can be passed by anybody: crmeval lint tells why")
        return calibrate(
            [case for case in cases if case.id in references],
            lambda case, agent: observe(case, agent, crm, references[case.id]),
            [SCORERS[name] for name in scorers],
            tools=crm.tools,
            bluffers=[mute(), parrot()],
            recites="clbench" in scorers,
            tries=options.tries,
            progress=_show_progress,
        )


def _references(cases: Sequence["Conversation"], crm: "Crm", *, play_invalid: bool) -> "dict[str, Reference]":
    """Return what the reference calls of each case do; of cases that nobody can pass only if they are to be played."""
    from pytest_crmeval.play.conversation import refer
    from pytest_crmeval.ports.crm import SeedError
    from pytest_crmeval.scoring.consistency import inconsistencies
    from pytest_crmeval.scoring.oracle import Oracle

    found = {}
    for case in cases:
        try:
            reference = refer(case, Oracle(case), crm)
        except SeedError:
            continue  # nobody can play it at all
        if play_invalid or not (case.defects or any(inconsistencies(case, reference))):
            found[case.id] = reference
    return found


def _show_progress(done: int) -> None:
    """Say how far it is, to a person; 0 takes it back."""
    if sys.stderr.isatty() and done % 100 == 0:
        sys.stderr.write(f"\r{done} conversations" if done else "\r\x1b[K")
        sys.stderr.flush()
