"""`crmeval status`: how far a run is, once or until it ends."""

import argparse
import json
import os
import shlex
import sys
import time

from pytest_crmeval.cli.places import NAMED, add_reports, named_run
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.journal.following import UnreadableError
from pytest_crmeval.journal.index import is_only_report
from pytest_crmeval.journal.jobs import JobError
from pytest_crmeval.journal.status import Status, Watch
from pytest_crmeval.render.status import in_a_line, lines

HELP = """Show how far a run is: a job, or a pytest run in another terminal; while it is on, and afterwards.

With --watch, until it ends; the exit status is then 0 if it came to a good end, 1 if it did not
(red, stopped or lost), and 130 after Ctrl-C, which ends the watching only: the run goes on."""
LEAST = 0.1


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("run", nargs="?", help=f"{NAMED} (default)")
    parser.add_argument("--watch", action="store_true", help="go on showing it until it ends")
    parser.add_argument(
        "--interval", type=_interval, default=5.0, metavar="S", help="seconds from one look to the next (default: 5)"
    )
    parser.add_argument("--json", action="store_true", help="for scripts; with --watch a line per change")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Show a run."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr] # it is no file only in tests
    try:
        where = f" --reports {shlex.quote(str(options.reports))}" if options.reports else ""
        folder = named_run(options)
        if is_only_report(folder):
            raise UsageError(f"only the report is left of the run {folder.name!r}: crmeval report {folder.name}{where}")
        watch = Watch(folder, where)
        if not options.watch:
            _show(watch.look(time.time(), time.monotonic()), options)
            return 0
        return _watched(watch, options)
    except (JobError, UnreadableError) as error:
        raise UsageError(error) from error


def _show(status: Status, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(status.to_dict(), ensure_ascii=False, indent=None if options.watch else 1))  # noqa: T201
        return
    sys.stdout.write("\n".join(lines(status, _width())) + "\n")


def _width() -> int | None:
    """Return how wide whoever reads it can have it; None for who is no terminal."""
    if not sys.stdout.isatty():
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def _watched(watch: Watch, options: argparse.Namespace) -> int:
    """Show it until it ends."""
    try:
        if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not options.json:
            from pytest_crmeval.cli.live import watch_live

            status = watch_live(watch, options.interval)
        else:
            status = _told(watch, options)
    except KeyboardInterrupt:
        sys.stderr.write("crmeval: no longer watching; the run goes on\n")
        return 130  # as shells have it
    return 0 if status.is_well else 1


def _told(watch: Watch, options: argparse.Namespace) -> Status:
    """Tell a line per change, to whoever reads lines; at the end all of it."""
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
        raise argparse.ArgumentTypeError(f"give seconds, from {LEAST} to a day, not {text}")
    return seconds
