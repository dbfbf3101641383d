"""`crmeval submit`: a run in the background."""

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_crmeval.agents import CONTROLS, NAMED_AGENTS
from pytest_crmeval.agents.specs import secret_parameter
from pytest_crmeval.cli.places import add_reports, lines_of, next_command, project, remember, reports_of, resumed_by
from pytest_crmeval.cli.starting import detached, lock_run, written
from pytest_crmeval.cli.terminal import UsageError, positive
from pytest_crmeval.domain.cutting import redacted
from pytest_crmeval.journal.ids import JOURNAL, LATEST, new_run, problem_of
from pytest_crmeval.journal.index import point
from pytest_crmeval.journal.jobs import LOG, BackgroundRun, is_job
from pytest_crmeval.journal.jobs import NAME as JOB
from pytest_crmeval.journal.locks import NAME as LOCK
from pytest_crmeval.journal.locks import now

HELP = """\
Start a run in the background: pytest, in a session of its own, with its output in reports/RUN/run.log. It continues
when the terminal is closed, and can be watched, stopped and resumed. The command returns when the run has started. If
it can't start (an unknown suite or agent, a missing key, a broken test file), the error is shown and no files are left.

    crmeval submit evals/ --agent claude --agent gpt-4.1 --limit 30 --workers 3
    crmeval submit evals/test_crm.py -k quote --agent openai:gpt-4.1-mini --concurrent 16
    crmeval submit evals/ --agent gpt-4.1 -- --crmeval-budget 5 --crmeval-judge openai:gpt-4.1
    crmeval submit --eval browsecomp --models gpt-4o,gpt-3.5-turbo --limit 10 --output-dir results

Arguments after -- are passed to pytest. The command is stored in reports/RUN/job.json: put secrets in the environment
or a .env file, not here.

Exit status: 0 if the run has started, 2 if it can't start.
"""
TARGET = "evals"
GRADED = ("browsecomp", "simpleqa")
"""Suites whose answers need a judge."""
JUDGE = "gpt-4.1"
_COLLECTING = frozenset({"--collect-only", "--collectonly", "--co"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="files, folders, node ids (default: evals/)")
    parser.add_argument("--eval", action="append", default=[], metavar="NAME", help="a suite by its name; repeatable")
    who = parser.add_argument_group("what to evaluate")
    who.add_argument("--agent", action="append", default=[], metavar="SPEC", help="agent to evaluate; repeatable")
    who.add_argument(
        "--models",
        default="",
        metavar="A,B",
        help="the same, separated by commas; an unknown name means an OpenAI model",
    )
    who.add_argument(
        "--judge",
        default="",
        metavar="SPEC",
        help=f"model that grades answers (default: {JUDGE} with --eval {' or '.join(GRADED)}, otherwise none)",
    )
    what = parser.add_argument_group("selection and concurrency")
    what.add_argument(
        "--limit", type=positive, metavar="N", help="a random sample of N cases per suite, the same in every run"
    )
    what.add_argument("-k", dest="keywords", metavar="EXPR", help="pytest's -k")
    what.add_argument("-m", dest="marks", metavar="EXPR", help="pytest's -m")
    what.add_argument("--concurrent", type=positive, metavar="N", help="cases in flight at the same time, per worker")
    what.add_argument("-n", "--workers", type=positive, metavar="N", help="number of xdist workers (default: none)")
    what.add_argument("--cluster", metavar="WHERE", help="play on a Ray cluster: local, auto or its address")
    parser.add_argument("--run", metavar="ID", help="id of the run (default: the time and a random suffix)")
    parser.add_argument("--hold", action="store_true", help="only write the job; crmeval run starts it")
    add_reports(parser)
    parser.add_argument("--output-dir", dest="reports", type=Path, metavar="DIR", help="the same as --reports")


def run(options: argparse.Namespace) -> int:
    """Submit a run."""
    run, reports = options.run or new_run(), reports_of(options)
    if problem := problem_of(run):
        raise UsageError(f"--run {run!r}: {problem}")
    arguments = list(_arguments(options))
    if plays_nothing := _COLLECTING & {*arguments}:
        raise UsageError(f"{min(plays_nothing)} plays nothing; pass it to pytest, not to crmeval submit")
    _check_secrets(arguments)
    command = [sys.executable, "-m", "pytest", *arguments]
    command += [f"--crmeval-set=reports={reports.absolute()}", f"--crmeval-run={run}"]
    folder = reports / run
    lock = lock_run(folder)
    if is_job(folder) or (folder / JOURNAL).exists():
        resume = resumed_by(folder, options)
        raise UsageError(f"run {run!r} already exists; resume it: {resume}; or choose another --run")
    job = BackgroundRun(id=run, command=command, cwd=str(Path.cwd()), submitted=now())
    if options.hold:
        written(folder, job)
        lock.close()
        _make_known(reports, run)
        sys.stdout.write(f"run {run} is submitted, but not started\nrun it:    {next_command('run', run, options)}\n")
        return 0
    try:
        process = detached(folder, job, lock)
    except (UsageError, KeyboardInterrupt):
        _remove(folder)
        raise
    _make_known(reports, run)
    commands = {
        "watch it": f"{next_command('status', run, options)} --watch",
        "stop it": next_command("stop", run, options),
        "its log": shlex.quote(str(folder / LOG)),
    }
    lines = [f"run {run} started (process {process})", *(f"{name + ':':10} {how}" for name, how in commands.items())]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def _check_secrets(arguments: Sequence[str]) -> None:
    """Refuse secrets before the command is written to job.json; the path of an existing file is not a secret."""
    for argument in (argument for argument in arguments if not Path(argument.partition("::")[0]).exists()):
        shown = redacted(argument)
        if name := secret_parameter(argument):
            shown = f"{shown.partition('?')[0]}: {name}"
        if shown != argument:
            raise UsageError(
                f"{shown}: a secret must not be part of the command, which is stored in {JOB}; "
                "put it in the environment or in a .env file"
            )


def _remove(folder: Path) -> None:
    """Remove the files of a run that was not started, and its folders if they are empty."""
    if not (folder / JOURNAL).exists():
        for name in (JOB, LOG, LOCK):
            (folder / name).unlink(missing_ok=True)
        with suppress(OSError):  # other files are in it
            folder.rmdir()
            folder.parent.rmdir()


def _make_known(reports: Path, run: str) -> None:
    """Point ``latest`` to a run and remember its folder; if neither is possible, the run still has its id."""
    remember(reports)
    try:
        point(reports / LATEST, run)
    except OSError as error:
        sys.stderr.write(
            f"crmeval: {reports / LATEST}: {error.strerror}; it does not point to this run: use its id, {run}\n"
        )


def _arguments(options: argparse.Namespace) -> Iterator[str]:
    """Yield the arguments for pytest."""
    suites = [name for name in options.eval if not _is_path(name)]
    paths = [name for name in options.eval if _is_path(name)]
    yield from _targets([*options.targets, *paths])
    yield from (f"--crmeval-suite={name}" for name in suites)
    agents = [*options.agent, *_models(options.models)]
    graded = [name for name in suites if name in GRADED]
    if graded and not agents:
        # pytest may also get an agent after ``--``, from its settings or from the environment.
        settings = [str(project()[1].get("addopts", "")), os.environ.get("PYTEST_ADDOPTS", "")]
        if "--crmeval-agent" not in " ".join([*options.rest, *settings]):
            raise UsageError(
                f"--eval {graded[0]} needs a model: add --models gpt-4o or --agent SPEC "
                "(--agent oracle answers from the answer key, to check the setup)"
            )
    yield from (f"--crmeval-agent={spec}" for spec in agents)
    judge = options.judge
    if not judge and set(agents) - set(CONTROLS) and any(name in GRADED for name in options.eval):
        judge = "" if any(argument.startswith("--crmeval-judge") for argument in options.rest) else JUDGE
    if judge:
        yield f"--crmeval-judge={judge}"
    for option, value in (
        ("--crmeval-sample", options.limit),
        ("--crmeval-inflight", options.concurrent),
        ("--numprocesses", options.workers),
        ("--crmeval-cluster", options.cluster),
    ):
        if value is not None:
            yield f"{option}={value}"
    for option, expression in (("-k", options.keywords), ("-m", options.marks)):
        if expression is not None:
            yield from (option, expression)
    yield from options.rest


def _targets(given: list[str]) -> list[str]:
    """Return what pytest collects; UsageError if it does not exist."""
    if not given and not Path(TARGET).is_dir():
        raise UsageError(f"name a file or folder to run: there is no folder {TARGET}/ here")
    for target in given:
        if not Path(target.partition("::")[0]).exists():
            raise UsageError(f"{target}: no such file or folder in {Path.cwd()}")
    return given or [TARGET]


def _is_path(name: str) -> bool:
    return "/" in name or name.endswith(".py")


def _models(text: str) -> Iterator[str]:
    """Yield the agents of ``--models``: known names and specs as they are, other names as models of OpenAI."""
    known = {*CONTROLS, *NAMED_AGENTS}
    if text:
        known |= {line.partition("=")[0].strip() for line in lines_of("crmeval_agents")}
    for name in filter(None, map(str.strip, text.split(","))):
        yield name if ":" in name or name.partition("?")[0] in known else f"openai:{name}"
