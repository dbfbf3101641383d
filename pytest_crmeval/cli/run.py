"""`crmeval run`: start or resume a submitted run, here or in the background."""

import argparse
import sys
from dataclasses import replace

from pytest_crmeval.cli.places import NAMED, add_reports, named_run, resumed_by
from pytest_crmeval.cli.starting import become_job, detached, lock_run
from pytest_crmeval.cli.terminal import UsageError, positive
from pytest_crmeval.journal.ids import LATEST
from pytest_crmeval.journal.jobs import JobError, is_job, read_job

HELP = """\
Run a submitted run in this terminal, or resume one that was stopped or lost: finished cases are not played again, and
the report covers all parts. A run is never played by two processes at once.

    crmeval run                                     # the latest run
    crmeval run 20261117-061501-ab12 --concurrent 8
    crmeval run reports/nightly --detach

Exit status: that of pytest; 2 if another process is running it, or if there is no such run.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("run", nargs="?", default=LATEST, metavar="RUN", help=f"{NAMED} (default)")
    parser.add_argument(
        "--concurrent", type=positive, metavar="N", help="cases in flight per worker, now and in later resumes"
    )
    parser.add_argument("--detach", action="store_true", help="run in the background, like crmeval submit")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Become the run, or start it."""
    folder = named_run(options)
    if not is_job(folder):
        raise UsageError(
            f"the run {folder.name!r} was not submitted; resume it as it was started: "
            f"{resumed_by(folder, options)} (its command is in the report)"
        )
    lock = lock_run(folder)
    try:
        job = read_job(folder)
    except JobError as error:
        raise UsageError(error) from error
    if options.concurrent:
        kept = [word for word in job.command if not word.startswith("--crmeval-inflight=")]
        job = replace(job, command=[*kept, f"--crmeval-inflight={options.concurrent}"])
    if not options.detach:
        become_job(folder, job, lock)
    sys.stdout.write(f"run {job.id} started (process {detached(folder, job, lock)})\n")
    return 0
