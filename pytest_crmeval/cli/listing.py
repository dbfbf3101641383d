"""`crmeval list`: the runs, and how they stand."""

import argparse
import json
import sys
from collections.abc import Sequence

from pytest_crmeval.cli.places import add_reports, all_reports
from pytest_crmeval.domain.usage import money
from pytest_crmeval.journal.index import RunOnDisk, runs_in
from pytest_crmeval.journal.jobs import State, Task, pass_at_1_of
from pytest_crmeval.report.tables import aligned

HELP = """\
List the runs of the reports folder, the newest first: those that were submitted, and those that pytest ran by itself.
Runs that were submitted with --output-dir are listed as well, unless --reports is given.

    crmeval list
    crmeval list --json | jq -r '.runs[] | select(.state == "lost") | .id'

A run is submitted (nobody has begun it), running, finished, stopped (before all was played: by somebody, -x, a full
disk, a budget) or lost (its process is gone without a word). What is stopped or lost is resumed by: crmeval run RUN
"""
SCHEMA = "crmeval.runs/1"
_ORDINARY = {None, 0, 1}
SHOWN = 2
"""How many tasks of a run are named."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--json", action="store_true", help="for programs")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """List the runs."""
    reports, *others = all_reports(options)
    runs = runs_in(reports, *others)
    if options.json:
        sys.stdout.write(json.dumps({"schema": SCHEMA, "runs": [_document(run) for run in runs]}, indent=2) + "\n")
    elif runs:
        head = ("run", "state", "begun (UTC)", "what", "done", "pass rate", "cost")
        sys.stdout.writelines(f"{line}\n" for line in aligned([head, *map(_row, runs)], names=4))
    else:
        sys.stdout.write(f"no runs in {reports}; start one: crmeval submit evals/\n")
    for found in runs:
        if found.trouble:
            sys.stderr.write(f"crmeval: {found.trouble}\n")
    return 0


def _row(run: RunOnDisk) -> Sequence[str]:
    done, total = sum(task.done for task in run.tasks), sum(task.total for task in run.tasks)
    cost = _cost(run.tasks)
    return (
        run.id,
        _state(run),
        run.when[:16].replace("T", " "),
        _what(run.tasks),
        f"{done}/{total}" if total else "-",
        _rates(run.tasks),
        "unknown" if cost is None else money(cost) if cost else "-",
    )


def _state(run: RunOnDisk) -> str:
    """Return the state, with an exit status that says more than how cases went."""
    status = run.job.exit_status if run.job else None
    return f"{run.state} ({status})" if run.state is State.FINISHED and status not in _ORDINARY else str(run.state)


def _what(tasks: Sequence[Task]) -> str:
    named = [f"{task.suite} × {task.subject}" for task in tasks[:SHOWN]]
    more = [f"{len(tasks) - SHOWN} more"] if len(tasks) > SHOWN else []
    return ", ".join([*named, *more]) or "-"


def _rates(tasks: Sequence[Task]) -> str:
    """Return the pass rate of all agents together, and pass@1 of all checkpoints; a dash if nothing was scored."""
    rate, solved = _rate(tasks), pass_at_1_of(tasks)
    told = [*([] if rate is None else [f"{rate:.3f}"]), *([] if solved is None else [f"pass@1 {solved:.3f}"])]
    return ", ".join(told) or "-"


def _rate(tasks: Sequence[Task]) -> float | None:
    agents = [task for task in tasks if not task.samples]
    passed, failed = sum(task.passed for task in agents), sum(task.failed for task in agents)
    return Task(suite="", subject="", passed=passed, failed=failed).pass_rate


def _cost(tasks: Sequence[Task]) -> float | None:
    costs = [task.cost for task in tasks]
    return None if None in costs else sum(cost or 0.0 for cost in costs)


def _document(run: RunOnDisk) -> dict[str, object]:
    return {
        "id": run.id,
        "folder": str(run.folder),
        "state": str(run.state),
        "started": run.when,
        "submitted": run.job is not None,
        "exit_status": run.job.exit_status if run.job else None,
        "done": sum(task.done for task in run.tasks),
        "total": sum(task.total for task in run.tasks),
        "pass_rate": _rate(run.tasks),
        "pass@1": pass_at_1_of(run.tasks),
        "cost": _cost(run.tasks),
        "tasks": [task.to_dict(run.state) for task in run.tasks],
        **({"trouble": run.trouble} if run.trouble else {}),
    }
