"""`crmeval judge`: run and grade the programs of checkpoints, without a test file of one's own."""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_crmeval.cli.places import project, remember, reports_of, settings_file
from pytest_crmeval.cli.terminal import UsageError, positive
from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.journal.history import history
from pytest_crmeval.journal.ids import new_run, problem_of
from pytest_crmeval.render.checkpoints import curve
from pytest_crmeval.report.files import ReportError, load
from pytest_crmeval.report.tables import aligned
from pytest_crmeval.report.usage_history import SECONDS_PER_SOLUTION, UsageHistory
from pytest_crmeval.solutions.files import SolutionRef, find
from pytest_crmeval.solutions.json_lines import count_lines
from pytest_crmeval.solutions.problems import check

HELP = """\
Run and grade the programs of model checkpoints: find the solution files, show what will be done and how long it may
take, run them with pytest, and print pass@1 over the steps. No test file is needed.

    crmeval judge runs/qwen/solutions --problems problems.jsonl
    crmeval judge samples.jsonl --problems HumanEval.jsonl.gz --dry-run
    crmeval judge runs/qwen/solutions --problems codeforces.parquet --max-generated-tests 0
    crmeval judge runs/qwen/solutions --problems p.jsonl --piston http://localhost:2000 http://other:2000 --yes
    crmeval judge runs/qwen/solutions --problems p.jsonl -- --crmeval-set file_timeout=900

DIR has a folder per checkpoint, with JSON Lines files in it, one program per line:

    checkpoint-49/samples.jsonl         {"id": "sum", "code": "print(sum(map(int, input().split())))"}
    checkpoint-98/samples.jsonl         {"task_id": "HumanEval/0", "completion": "    return ..."}

Problems are files in crmeval's own format, or one of these datasets as published: HumanEval, MBPP, evalplus,
LiveCodeBench, APPS, TACO, CodeContests, open-r1/codeforces. Without --problems, a file problems.jsonl, .json or
.parquet in DIR, in its parent folder or in the current folder is used.

Programs run isolated on this machine, or on Piston servers. Verdicts of an earlier run on the same files are reused
(-- --crmeval-fresh runs them again). The results are in the folder of the run: eval_checkpoint_N/eval_FILE.txt and
.jsonl, and batch_eval_results.json. Arguments after -- are passed to pytest.

Exit status: that of pytest: 0 if every file was graded, 1 if one could not be; 2 if nothing was started.
"""
TEST = '''\
"""Written by crmeval judge, which runs it; it may be run by pytest as well, with --crmeval-solutions."""

import pytest


@pytest.mark.solutions(".", suite="checkpoints")
def test_solutions(solutions, evaluate):
    trial = evaluate(solutions)
    assert trial.passed, trial.explain()
'''
TEST_NAME = "judge_checkpoints.py"
ENDINGS = (".jsonl", ".json", ".parquet", ".jsonl.gz")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "sources", nargs="+", metavar="DIR", help="folder with checkpoints; also a glob, or a .jsonl file"
    )
    what = parser.add_argument_group("what to run")
    what.add_argument("--problems", action="append", default=[], metavar="FILE", help="problems; repeatable")
    what.add_argument(
        "--tests", metavar="DIR", help="generated tests of open-r1/codeforces, a parquet file per contest"
    )
    what.add_argument(
        "--max-generated-tests",
        type=int,
        metavar="N",
        help="generated tests per problem; 0 for none, -1 for all (default: all; solutions of "
        "problems whose generated tests are missing are then not graded)",
    )
    what.add_argument("--checkpoints", metavar="PATTERN", help="only these, for example 'checkpoint-{49,98}'")
    where = parser.add_argument_group("where and how")
    where.add_argument("--piston", nargs="+", default=[], metavar="URL", help="Piston servers (default: this machine)")
    where.add_argument(
        "-n", "--workers", type=positive, metavar="N", help="processes (default: one per file, at most one per core)"
    )
    where.add_argument(
        "--output-dir", dest="reports", type=Path, metavar="DIR", help="folder of the results (default: reports)"
    )
    where.add_argument(
        "--run", metavar="ID", help="id of the run (default: the time and a random suffix); an existing run is resumed"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and stop")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before starting")


def run(options: argparse.Namespace) -> int:
    """Judge checkpoints."""
    run, reports = options.run or new_run(), reports_of(options)
    if problem := problem_of(run):
        raise UsageError(f"--run {run!r}: {problem}")
    try:
        files = find(options.sources, options.checkpoints or "")
        problems = _problems(options)
        for path in problems:
            check(path)
    except DatasetError as error:
        raise UsageError(error) from error
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = options.workers or max(1, min(len(files), max(cores, 2 * len(options.piston))))  # one judges a file
    arguments = list(_arguments(options, problems, workers, reports, run))
    sys.stdout.writelines(f"{line}\n" for line in _plan(files, workers, reports))
    sys.stdout.write(f"command:   {shlex.join(['pytest', *arguments])}\n")
    sys.stdout.flush()
    asks = not options.yes and sys.stdin.isatty() and sys.stdout.isatty()
    if options.dry_run or (asks and input("start? [Y/n] ").strip().lower() not in {"", "y", "yes"}):
        return 0
    status = _judge(arguments, reports)
    with suppress(ReportError):  # pytest has said why
        standings = load(reports / f"{run}.json").standings
        sys.stdout.writelines(f"{line}\n" for line in ["", *curve(standings)])
    return status


def _problems(options: argparse.Namespace) -> Sequence[Path]:
    """Return the files of problems; UsageError if there is none."""
    given = [Path(name) for name in options.problems]
    if lost := next((path for path in given if not path.is_file()), None):
        raise UsageError(f"{lost}: this file of problems does not exist")
    if given:
        return given
    sources = [Path(source) for source in options.sources]
    folders = dict.fromkeys([*sources, *(source.parent for source in sources), Path()])
    places = [folder / f"problems{ending}" for folder in folders for ending in ENDINGS]
    if found := next((path for path in places if path.is_file()), None):
        return [found]
    raise UsageError("name the problems with --problems FILE: a file in crmeval's own format, or a published benchmark")


def _plan(files: Sequence[SolutionRef], workers: int, reports: Path) -> Iterator[str]:
    """Yield what will be done, and how long it may take."""
    groups: dict[str, list[SolutionRef]] = {}
    for file in files:
        groups.setdefault(file.checkpoint.name, []).append(file)
    counts = {
        name: sum(0 if file.broken else count_lines(file.path) for file in found) for name, found in groups.items()
    }
    rows = [
        (name, "-" if (step := found[0].checkpoint.step) is None else str(step), str(len(found)), f"{counts[name]:,}")
        for name, found in groups.items()
    ]
    yield from aligned([("checkpoint", "step", "files", "solutions"), *rows], names=1)
    yield from (f"can't be read: {file.path}: {file.broken}" for file in files if file.broken)
    total = sum(counts.values())
    usual = UsageHistory(history(reports)).seconds_per_solution() if reports.is_dir() else None
    seconds = total * (usual or SECONDS_PER_SOLUTION) / workers
    basis = "measured in earlier runs" if usual else f"a guess of {SECONDS_PER_SOLUTION:g} s per solution"
    yield f"results:   {reports}"
    count = f"{total:,} solution{'s' * (total != 1)}, {workers} worker{'s' * (workers != 1)}"
    yield f"estimate:  {_duration(seconds)} for {count} ({basis})"


def _duration(seconds: float) -> str:
    if seconds < 90:  # noqa: PLR2004 (a minute and a half reads better in seconds)
        return f"about {max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 120 else f"about {round(minutes / 60)} h"  # noqa: PLR2004 (two hours)


def _arguments(
    options: argparse.Namespace, problems: Sequence[Path], workers: int, reports: Path, run: str
) -> Iterator[str]:
    """Yield the arguments for pytest."""
    yield from (str(reports / TEST_NAME), "-c", str(settings_file() or os.devnull), f"--rootdir={project()[0]}")
    yield from (f"--crmeval-set=reports={reports.absolute()}", f"--crmeval-run={run}")
    yield from (f"--crmeval-solutions={source}" for source in options.sources)
    yield from (f"--crmeval-problems={path}" for path in problems)
    yield f"--numprocesses={workers if workers > 1 else 0}"
    if options.piston:
        yield f"--crmeval-sandbox={','.join(options.piston)}"
    if options.tests:
        yield f"--crmeval-tests={options.tests}"
    if options.checkpoints:
        yield f"--crmeval-set=checkpoints={options.checkpoints}"
    if (most := options.max_generated_tests) is not None and most >= 0:
        yield f"--crmeval-set=tests_max={most}"
    yield from options.rest


def _judge(arguments: Sequence[str], reports: Path) -> int:
    """Run pytest, and return its exit status."""
    test = reports / TEST_NAME
    try:
        reports.mkdir(parents=True, exist_ok=True)
        test.write_text(TEST, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{test}: {error.strerror}; choose a folder that can be written with --output-dir") from error
    remember(reports)
    command = [sys.executable, "-m", "pytest", *arguments]
    process = subprocess.Popen(command)  # noqa: S603 (pytest, with the user's own arguments)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # the terminal has sent it to pytest as well, which ends by itself
            continue
