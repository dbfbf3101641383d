"""`crmeval list`: the runs and their states."""

import argparse
import json
import sys
from collections.abc import Sequence

from pytest_crmeval.agents import CONTROLS
from pytest_crmeval.cli.places import add_reports, all_reports
from pytest_crmeval.cli.terminal import width
from pytest_crmeval.domain.formats import headed
from pytest_crmeval.domain.usage import money
from pytest_crmeval.journal.index import RunOnDisk, runs_in
from pytest_crmeval.journal.jobs import State, Task
from pytest_crmeval.render.fitting import fitted

HELP = """\
List the runs of the reports folder, the newest first: background runs, and runs of plain pytest.
Runs that were submitted with --output-dir are listed as well, unless --reports is given.

    crmeval list
    crmeval list --json | jq -r '.runs[] | select(.state == "lost") | .id'

A run is submitted (not started), running, finished, stopped (incomplete: stopped by a user, -x, a full disk or a
budget) or lost (its process died). To resume a stopped or lost run: crmeval run RUN

Exit status: 0.
"""
SCHEMA = "crmeval.runs/1"
_ORDINARY = {None, 0, 1}
SHOWN = 2
"""How many tasks of a run are named."""
_SPARE = ("started (UTC)", "cost")
"""Columns that a narrow table omits, the least important first."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--json", action="store_true", help="print the runs as JSON")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """List the runs."""
    reports, *others = all_reports(options)
    runs = runs_in(reports, *others)
    if options.json:
        sys.stdout.write(json.dumps({**headed(SCHEMA), "runs": [_document(run) for run in runs]}, indent=2) + "\n")
    elif runs:
        head = ("run", "state", "started (UTC)", "what", "done", "pass rate", "cost")
        sys.stdout.writelines(
            f"{line}\n" for line in fitted([head, *map(_row, runs)], names=4, width=width(), spare=_SPARE)
        )
    else:
        sys.stdout.write(f"no runs in {reports}; start one: crmeval submit evals/\n")
    for found in runs:
        if found.trouble:
            sys.stderr.write(f"crmeval: {found.trouble}\n")
    return 0


def _row(run: RunOnDisk) -> Sequence[str]:
    tasks = sorted(run.tasks, key=lambda task: task.subject in CONTROLS)
    done, total = sum(task.done for task in tasks), sum(task.total for task in tasks)
    status = run.job.exit_status if run.job else None
    # An exit status of 2 or more says that pytest itself had a problem.
    odd = f" ({status})" if run.state is State.FINISHED and status not in _ORDINARY else ""
    named = [f"{task.suite} × {task.subject}" for task in tasks[:SHOWN]]
    more = [f"{len(tasks) - SHOWN} more"] if len(tasks) > SHOWN else []
    rates, cost = [_rate(task) for task in tasks[:SHOWN]], _cost(tasks)
    return (
        run.id,
        f"{run.state}{odd}",
        run.when[:16].replace("T", " "),
        ", ".join([*named, *more]) or "-",
        f"{done}/{total}" if total else "-",
        ", ".join([*rates, *(["…"] if more else [])]) if {*rates} - {"-"} else "-",
        "unknown" if cost is None else money(cost) if cost else "-",
    )


def _rate(task: Task) -> str:
    """Return the pass rate of a subject, or pass@1 of a checkpoint; a dash if nothing was scored."""
    if task.pass_at_1 is not None:
        return f"pass@1 {task.pass_at_1:.3f}"
    return "-" if task.pass_rate is None else f"{task.pass_rate:.3f}"


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
        "cost": _cost(run.tasks),
        "tasks": [
            {**task.in_run(run.state), "pass_rate": task.pass_rate, "pass@1": task.pass_at_1} for task in run.tasks
        ],
        **({"trouble": run.trouble} if run.trouble else {}),
    }
