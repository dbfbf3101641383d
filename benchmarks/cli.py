"""Measure the response time of ``crmeval``. Part of ``make bench``; takes a quarter of a minute.

The peer is ``python -c pass``, the lower bound for any Python program. Target: under 150 ms to list 50 runs, submitted
ones and others, and to submit a job without starting it.
"""

import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.measuring import Spread, heading, sized, take_turns, timed, warm_up
from benchmarks.rows import Row, report
from pytest_crmeval.controller.counting import counted
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.journal.counts import tasks_in
from pytest_crmeval.journal.jobs import BackgroundRun, State, write_job
from pytest_crmeval.journal.reader import RunRecord
from pytest_crmeval.report import files as reports

ROUNDS = sized(15, small=1)
RUNS = sized(50, small=2)
CASES = sized(300, small=2)
MOST = 150.0
"""Milliseconds."""
STARTED = "2026-11-17T06:00:00+00:00"


def fill(folder: Path) -> None:
    """Write runs to the folder; every other one was submitted."""
    past = RunRecord()
    cases = [
        PlannedCase(key=f"t[{number}]", suite="crm", subject="oracle", case=str(number), fingerprint="", spec="oracle")
        for number in range(CASES)
    ]
    past.begin({"started": STARTED}, cases)
    for case in cases:
        past.take(Trial(planned=case, verdict=Verdict.PASSED, seconds=1.0))
    for number in range(RUNS):
        run = folder / f"run-{number:02}"
        run.mkdir(parents=True)
        if number % 2:
            job = BackgroundRun(id=run.name, command=["pytest"], cwd="/", submitted=STARTED, state=State.FINISHED)
            write_job(run, replace(job, tasks=tasks_in(counted(past))))
        reports.write(reports.build({"id": run.name, "started": STARTED}, past.trials, cases), folder)


def main() -> None:
    """Run the benchmark."""
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as name:
        folder = Path(name)
        fill(folder / "reports")
        (folder / "evals").mkdir()
        crmeval = [sys.executable, "-m", "pytest_crmeval.cli"]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "crmeval --help": [*crmeval, "--help"],
            f"crmeval list ({RUNS} runs)": [*crmeval, "list"],
            "crmeval submit --hold": [*crmeval, "submit", "--hold", "--reports", "held"],
        }
        contenders = {what: partial(timed, command, folder) for what, command in commands.items()}
        warm_up(contenders)
        measured = take_turns(contenders, ROUNDS)
    heading(f"Response times of crmeval ({ROUNDS} each, in turn)")
    bare = Spread([timing.seconds for timing in measured["python -c pass"]]).median
    for what, timings in measured.items():
        spread = Spread([timing.seconds for timing in timings])
        print(f"{what:28}", spread.shown("ms", 1e3, 0))
        if what.startswith("crmeval"):
            ours, most = spread.median * 1e3, MOST if "--help" not in what else None
            report(Row(name=what, unit="ms", ours=ours, peer="python -c pass", theirs=bare * 1e3, most=most))


if __name__ == "__main__":
    main()
