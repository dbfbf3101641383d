"""`crmeval status`: the progress of a run, once or until it ends."""

import argparse
import json
import os
import shlex
import sys
import time

from pytest_crmeval.cli.places import NAMED, add_reports, named_run
from pytest_crmeval.cli.terminal import UsageError, width
from pytest_crmeval.journal.index import is_only_report
from pytest_crmeval.journal.jobs import JobError
from pytest_crmeval.journal.reader import JournalError
from pytest_crmeval.journal.status import RunWatcher, Status
from pytest_crmeval.render.status import in_a_line, lines

HELP = """\
Show the progress of a background run, or of a pytest run in another terminal, while it runs and afterwards.

    crmeval status                                  # the run that was started last
    crmeval status nightly --watch                  # until it ends
    crmeval status nightly --json                   # for scripts

Exit status: 0; 2 if there is no such run. With --watch: 0 if the run succeeded, 1 if it failed, was stopped or was
lost, and 130 after Ctrl-C, which stops watching, not the run.
"""
LEAST = 0.1


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("run", nargs="?", help=f"{NAMED} (default)")
    parser.add_argument("--watch", action="store_true", help="update the table until the run ends")
    parser.add_argument(
        "--interval", type=_interval, default=5.0, metavar="S", help="seconds between two updates (default: 5)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON; with --watch one line per change")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Show a run."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr] # tests replace it with another object
    try:
        where = f" --reports {shlex.quote(str(options.reports))}" if options.reports else ""
        folder = named_run(options)
        if is_only_report(folder):
            raise UsageError(f"run {folder.name!r} has only a report: crmeval report {folder.name}{where}")
        watch = RunWatcher(folder, where)
        if not options.watch:
            _show(watch.look(time.time(), time.monotonic()), options)
            return 0
        return _watched(watch, options)
    except (JobError, JournalError) as error:
        raise UsageError(error) from error


def _show(status: Status, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(status.to_dict(), ensure_ascii=False, indent=None if options.watch else 1))  # noqa: T201
        return
    sys.stdout.write("\n".join(lines(status, width())) + "\n")


def _watched(watch: RunWatcher, options: argparse.Namespace) -> int:
    """Show it until it ends."""
    try:
        if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not options.json:
            from pytest_crmeval.cli.live import watch_live

            status = watch_live(watch, options.interval)
        else:
            status = _logged(watch, options)
    except KeyboardInterrupt:
        sys.stderr.write("crmeval: no longer watching; the run continues\n")
        return 130  # as shells have it
    return 0 if status.is_well else 1


def _logged(watch: RunWatcher, options: argparse.Namespace) -> Status:
    """Print one line per change, for a log file or a pipe, and the whole status at the end."""
    before: object = None
    while True:
        status = watch.look(time.time(), time.monotonic())
        if options.json:
            if status.news != before:
                _show(status, options)
        elif status.is_over:
            _show(status, options)
        elif status.news != before:
            sys.stdout.write(f"{time.strftime('%H:%M:%S')} {in_a_line(status)}\n")
        sys.stdout.flush()
        if status.is_over:
            return status
        before = status.news
        time.sleep(options.interval)


def _interval(text: str) -> float:
    seconds = float(text)
    if not LEAST <= seconds <= 86_400:  # noqa: PLR2004 (a day)
        raise argparse.ArgumentTypeError(f"must be from {LEAST} to 86400 seconds (a day), not {text}")
    return seconds
