"""`crmeval run`: a submitted run, here or in the background; again, and it does only what is missing."""

import argparse
import sys
from dataclasses import replace

from pytest_crmeval.cli.places import NAMED, add_reports, named_run, resumed_by
from pytest_crmeval.cli.starting import detached, here, locked
from pytest_crmeval.cli.terminal import UsageError, positive
from pytest_crmeval.journal.ids import LATEST
from pytest_crmeval.journal.jobs import Job, JobError, is_job, read_job

HELP = """\
Run a submitted run in this terminal, or resume one that was stopped or lost: what is finished is not done again, and
the report counts all parts together. Two processes never run the same run.

    crmeval run                                     # the latest run
    crmeval run 20261117-061501-ab12 --concurrent 8
    crmeval run reports/nightly --detach

Exit status: that of pytest; 2 if another process has the run, or if there is no such run.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("run", nargs="?", default=LATEST, metavar="RUN", help=f"{NAMED} (default)")
    parser.add_argument(
        "--concurrent", type=positive, metavar="N", help="cases in flight per worker, now and in later resumes"
    )
    parser.add_argument("--detach", action="store_true", help="in the background, as crmeval submit does")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Become the run, or start it."""
    folder = named_run(options)
    if not is_job(folder):
        raise UsageError(
            f"the run {folder.name!r} was not submitted; resume it as it was begun: "
            f"{resumed_by(folder, options)} (its command is in the report)"
        )
    lock = locked(folder)
    try:
        job = read_job(folder)
    except JobError as error:
        raise UsageError(error) from error
    if options.concurrent:
        job = _concurrent(job, options.concurrent)
    if not options.detach:
        here(folder, job, lock)
    sys.stdout.write(f"run {job.id} is started (process {detached(folder, job, lock)})\n")
    return 0


def _concurrent(job: Job, cases: int) -> Job:
    """Return a job with another number of cases in flight."""
    kept = [word for word in job.command if not word.startswith("--crmeval-inflight=")]
    return replace(job, command=[*kept, f"--crmeval-inflight={cases}"])
