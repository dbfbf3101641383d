"""Measure how long `crmeval view` takes to open many runs of 1,250 trials. Part of ``make bench``, with 25 runs.

    .venv/bin/python -m benchmarks.view --runs 200        250,000 trials; takes minutes

Target: the list of runs is shown less than a second after the command, with the index of an earlier start. Also
measured: the same without an index, the trend, one run, a search, and the time to fill the index.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

from benchmarks.measuring import Spread, child_environment, heading, sized
from benchmarks.rows import Row, report
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.journal import transcripts
from pytest_crmeval.journal.ids import INDEXES
from pytest_crmeval.report import files
from tests.kept_runs import ENDED, STARTED, keep, part
from tests.pages import trials_of

RUNS, TRIALS = sized((25, 1_250), small=(2, 5))
ROUNDS = sized(5, small=1)
LIMIT = 1.0
"""Seconds from the command to the list of runs."""
PATIENCE = 1_800.0


def fill(reports: Path, runs: int) -> None:
    """Write the runs: one that is made, and copies of it in which another tenth of the trials has failed."""
    trials = trials_of(TRIALS)
    made = keep(reports, "run-000", trials, parts=[part(started=STARTED)])
    for trial in trials:
        transcripts.write(reports / "run-000/transcripts", trial)
    journal = (reports / "run-000/trials.jsonl").read_bytes()
    stored = [path for path in (reports / "run-000/transcripts").rglob("*") if path.is_file()]
    for number in range(1, runs):
        run = f"run-{number:03}"
        started = f"2026-{1 + number // 28:02}-{1 + number % 28:02}T02:00:00+00:00"
        for path in stored:
            copy = reports / run / path.relative_to(reports / "run-000")
            copy.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, copy)
        (reports / run / "trials.jsonl").write_bytes(journal)
        changed = {
            trial.planned.key: replace(trial, verdict=Verdict.FAILED) if (place + number) % 10 == 0 else trial
            for place, trial in enumerate(trials)
        }
        facts = {**made.run, "id": run, "started": started, "ended": ENDED}
        files.write(files.build(facts, changed, [trial.planned for trial in trials]), reports)


@contextmanager
def viewer(reports: Path) -> Iterator[str]:
    """Start the command, and yield the address that it prints."""
    command = [sys.executable, "-m", "pytest_crmeval.cli", "view", "--reports", str(reports)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=child_environment()) as process:
        try:
            assert process.stdout  # noqa: S101 (a pipe)
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def fetched(url: str) -> tuple[float, str]:
    """Return the seconds that a page takes, and the page."""
    start = time.perf_counter()
    with urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 (our own server)
        content: str = answer.read().decode()
    return time.perf_counter() - start, content


def opened(reports: Path, last: str) -> float:
    """Return the seconds from the command to the list of all runs."""
    start = time.perf_counter()
    with viewer(reports) as url:
        _, page = fetched(f"{url}?all=1")
        seconds = time.perf_counter() - start
    assert last in page  # noqa: S101 (all runs are there)
    return seconds


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure how long crmeval view takes to open many runs.")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"number of runs (default: {RUNS})")
    runs = parser.parse_args().runs
    last = f"run-{runs - 1:03}"
    heading(f"crmeval view: {runs} runs with {runs * TRIALS:,} trials")
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as name:
        reports = Path(name) / "reports"
        reports.mkdir()
        fill(reports, runs)
        print(f"without an index: {opened(reports, last):.2f} s from the command to the list of runs", flush=True)
        start = time.perf_counter()
        with viewer(reports) as url:
            time.sleep(1.0)  # the list of runs is shown before the index is begun
            while "Index:" in fetched(url)[1]:
                time.sleep(1.0)
            print(f"index complete after {time.perf_counter() - start:.0f} s", flush=True)
            for what in ("trend", "search?text=terrazza", f"runs/{last}/"):
                print(f"{what:24} {fetched(url + what)[0]:.2f} s", flush=True)
        size = sum(path.stat().st_size for path in (reports / INDEXES).iterdir())
        print(f"size of the index: {size / 1e6:.0f} MB")
        found = Spread([opened(reports, last) for _ in range(ROUNDS)])
        print("with an index:", found.shown("s"), "from the command to the list of runs")
    report(Row(name=f"crmeval view, list of {runs} runs", unit="s", ours=found.median, most=LIMIT))


if __name__ == "__main__":
    main()
