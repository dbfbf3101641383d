"""``crmeval submit``, ``run``, ``stop`` and ``list``, as far as they start no process."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval import cli
from pytest_crmeval.domain import cutting
from pytest_crmeval.journal import locks
from pytest_crmeval.journal.jobs import BackgroundRun, State, Task, read_job, write_job
from pytest_crmeval.journal.locks import FolderLock, Holder

JOB = BackgroundRun(
    id="nightly", command=["/nowhere/python", "-m", "pytest"], cwd="/", submitted="2026-11-17T06:00:00+00:00"
)
TASK = Task(suite="crm", subject="gpt-4.1", total=30, passed=9, failed=3, cost=0.12)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a project."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(locks, "PATIENCE", 0.0)
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/test_crm.py").touch()
    return tmp_path


def submitted(*arguments: str) -> list[str]:
    """Submit a run without starting it, and return the arguments for pytest."""
    assert 0 == cli.main(["submit", "--hold", "--run", "mine", *arguments])
    (path,) = Path.cwd().glob("*/mine/job.json")
    python, *command = read_job(path.parent).command
    assert (sys.executable, ["-m", "pytest"]) == (python, command[:2])
    assert [f"--crmeval-set=reports={path.parents[1]}", "--crmeval-run=mine"] == command[-2:]
    return command[2:-2]


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("", "evals"),
        ("evals/test_crm.py", "evals/test_crm.py"),
        ("evals/test_crm.py::test_conversation", "evals/test_crm.py::test_conversation"),
        ("evals --agent claude --agent oracle", "evals --crmeval-agent=claude --crmeval-agent=oracle"),
        ("--limit 10 --concurrent 5 -n 3", "evals --crmeval-sample=10 --crmeval-inflight=5 --numprocesses=3"),
        ("--workers 2 -k quote -m refusal", "evals --numprocesses=2 -k quote -m refusal"),
        ("--cluster 10.0.0.5:6379", "evals --crmeval-cluster=10.0.0.5:6379"),
        ("evals -- -x --crmeval-budget 5", "evals -x --crmeval-budget 5"),
        ("-- --crmeval-set max_steps=5", "evals --crmeval-set max_steps=5"),
        ("--agent mute -- -k one", "evals --crmeval-agent=mute -k one"),
        ("--eval browsecomp -- --crmeval-agent=mute", "evals --crmeval-suite=browsecomp --crmeval-agent=mute"),
        ("--eval browsecomp --agent oracle", "evals --crmeval-suite=browsecomp --crmeval-agent=oracle"),
        (
            "--eval browsecomp --agent claude --judge mine",
            "evals --crmeval-suite=browsecomp --crmeval-agent=claude --crmeval-judge=mine",
        ),
        (
            "--eval browsecomp --agent claude -- --crmeval-judge=mine",
            "evals --crmeval-suite=browsecomp --crmeval-agent=claude --crmeval-judge=mine",
        ),
        ("--eval evals/test_crm.py --eval crm", "evals/test_crm.py --crmeval-suite=crm"),
        (
            "--models gpt-4o,gpt-3.5-turbo",
            "evals --crmeval-agent=openai:gpt-4o --crmeval-agent=openai:gpt-3.5-turbo",
        ),
        (
            "--models claude?temperature=1,anthropic:x,oracle,mine",
            (
                "evals --crmeval-agent=claude?temperature=1 --crmeval-agent=anthropic:x --crmeval-agent=oracle "
                "--crmeval-agent=mine"
            ),
        ),
    ],
)
def test_arguments_are_passed_to_pytest(here: Path, typed: str, shown: str) -> None:
    (here / "pyproject.toml").write_text('[tool.pytest.ini_options]\ncrmeval_agents = ["mine = bots:Mine"]\n')

    assert shown.split() == submitted(*typed.split())


def test_command_line_of_simple_evals_scripts_works(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = "--eval browsecomp --models gpt-4o,gpt-3.5-turbo --limit 10 --output-dir async_results"
    shown = submitted(*typed.split())

    assert [
        "evals",
        "--crmeval-suite=browsecomp",
        "--crmeval-agent=openai:gpt-4o",
        "--crmeval-agent=openai:gpt-3.5-turbo",
        "--crmeval-judge=gpt-4.1",
        "--crmeval-sample=10",
    ] == shown
    assert (here / "async_results/mine/job.json").is_file()
    assert "crmeval run mine --reports async_results" in capsys.readouterr().out


def test_held_job_is_the_latest_run_and_waits(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output names the next command."""
    submitted()

    job = read_job(here / "reports/latest")
    assert (State.SUBMITTED, str(here)) == (job.state, job.cwd)
    assert "run mine is submitted, but not started\nrun it:    crmeval run mine\n" == capsys.readouterr().out


def test_unwritable_latest_link_is_reported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line; the run has a name."""
    (here / "reports/latest").mkdir(parents=True)
    submitted()

    said = capsys.readouterr()
    assert "crmeval: reports/latest: Is a directory; it does not point to this run: use its id, mine\n" == said.err
    assert "run mine is submitted, but not started" in said.out
    assert ["latest", "mine"] == sorted(path.name for path in (here / "reports").iterdir())


def test_run_can_be_named(here: Path) -> None:
    cli.main(["submit", "--hold"])
    cli.main(["submit", "--hold"])

    assert 2 == len(list(here.glob("reports/20*-*-*/job.json")))


@pytest.mark.parametrize(
    ("settings", "text", "folder"),
    [
        ("pyproject.toml", '[tool.pytest.ini_options]\ncrmeval_reports = "out"\n', "out"),
        ("pytest.toml", '[pytest]\ncrmeval_reports = "out"\n', "out"),
        ("pytest.ini", "[pytest]\ncrmeval_reports = out\n", "out"),
        ("tox.ini", "[pytest]\ncrmeval_reports = out\n", "out"),
        ("setup.cfg", "[tool:pytest]\ncrmeval_reports = out\n", "out"),
        ("pyproject.toml", "[project]\nname = 'x'\n", "reports"),
        ("tox.ini", "[tox]\n", "reports"),
    ],
)
def test_runs_are_in_the_reports_folder_of_the_project(
    here: Path, monkeypatch: pytest.MonkeyPatch, settings: str, text: str, folder: str
) -> None:
    """As pytest finds it, also from a subfolder; a project without settings uses the default."""
    (here / settings).write_text(text)
    if folder == "out":
        monkeypatch.chdir(here / "evals")

    assert 0 == cli.main(["submit", str(here / "evals"), "--hold", "--run", "mine"])
    assert (here / folder / "mine/job.json").is_file()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("submit nowhere/", "crmeval: nowhere/: no such file or folder in"),
        ("submit evals/x.py::test", "crmeval: evals/x.py::test: no such file or folder in"),
        ("submit --run ../x", "crmeval: --run '../x': use up to 40 letters"),
        ("submit --run latest", "crmeval: --run 'latest': use up to 40 letters"),
        ("submit --reports evals/test_crm.py", "crmeval: evals/test_crm.py/"),
        ("run nothing", "crmeval: there is no run 'nothing' in"),
        ("run", "crmeval: there is no run in"),
        ("run latest", "crmeval: there is no run in"),
        ("submit --eval browsecomp", "crmeval: --eval browsecomp needs a model: add --models gpt-4o or --agent SPEC"),
        ("status reports/nothing", "crmeval: there is no run 'reports/nothing' in"),
        ("stop nothing", "crmeval: there is no run 'nothing' in"),
    ],
)
def test_mistake_is_reported_in_one_line(here: Path, capsys: pytest.CaptureFixture[str], typed: str, said: str) -> None:
    assert 2 == cli.main(typed.split())

    error = capsys.readouterr().err
    assert error.startswith(said)
    assert 1 == error.count("\n")
    assert not (here / "reports").exists()


def test_submit_without_a_target_needs_an_evals_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "evals/test_crm.py").rename(here / "test_crm.py")
    (here / "evals").rmdir()

    assert 2 == cli.main(["submit"])
    assert "crmeval: name a file or folder to run: there is no folder evals/ here\n" == capsys.readouterr().err


def test_only_one_of_two_submits_with_the_same_name_wins(here: Path) -> None:
    command = [sys.executable, "-m", "pytest_crmeval.cli", "submit", "--hold", "--run", "mine"]
    both = [
        subprocess.Popen([*command, "-k", word], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for word in ("one", "two")
    ]
    said = [process.communicate()[1] for process in both]

    assert [0, 2] == sorted(process.returncode for process in both)
    loser = next(text for text in said if text)
    assert 1 == loser.count("\n")
    assert "the run 'mine' is being run by process" in loser or "run 'mine' already exists; resume it" in loser
    winner = ["one", "two"][[process.returncode for process in both].index(0)]
    assert winner in read_job(here / "reports/mine").command


def test_submit_refuses_to_collect_only(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main(["submit", "--run", "mine", "--", "--co"])

    assert "--co plays nothing; pass it to pytest, not to crmeval submit" in capsys.readouterr().err
    assert [] == list(here.rglob("job.json"))


@pytest.mark.parametrize(
    ("file", "resume"), [("job.json", "crmeval run mine"), ("trials.jsonl", "pytest ... --crmeval-run=mine")]
)
def test_existing_run_is_reported_with_the_command_that_resumes_it(
    here: Path, capsys: pytest.CaptureFixture[str], file: str, resume: str
) -> None:
    (here / "reports/mine").mkdir(parents=True)
    (here / "reports/mine" / file).touch()

    assert 2 == cli.main(["submit", "--run", "mine"])
    assert f"run 'mine' already exists; resume it: {resume}; or choose another --run\n" in capsys.readouterr().err


def test_run_that_was_not_submitted_is_not_resumed_by_guessing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its command is in its report."""
    (here / "reports/mine").mkdir(parents=True)
    (here / "reports/mine/trials.jsonl").touch()

    assert 2 == cli.main(["run", "mine"])
    assert (
        "'mine' was not submitted; resume it as it was started: pytest ... --crmeval-run=mine"
        in capsys.readouterr().err
    )


def test_run_without_a_name_resumes_the_latest_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its Python no longer exists, so the error names the run."""
    for number, name in enumerate(("first", "second")):
        folder = here / "reports" / name
        folder.mkdir(parents=True)
        write_job(folder, replace(JOB, id=name, cwd=str(here)))
        os.utime(folder / "job.json", (number, number))

    assert 2 == cli.main(["run"])
    assert "the run second was not started" in capsys.readouterr().err


def test_concurrent_option_of_run_replaces_that_of_submit(here: Path) -> None:
    """The job stores the new number for the next time."""
    submitted("--concurrent", "4")
    job = read_job(here / "reports/mine")
    write_job(here / "reports/mine", replace(job, command=["/nowhere/python", *job.command[1:]]))

    assert 2 == cli.main(["run", "mine", "--concurrent", "9"])
    given = [word for word in read_job(here / "reports/mine").command if "inflight" in word]
    assert ["--crmeval-inflight=9"] == given


def test_running_job_is_not_run_twice(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = here / "reports/nightly"
    folder.mkdir(parents=True)
    write_job(folder, JOB)
    lock = FolderLock.take(folder)

    statuses = [cli.main(["run", "nightly"]), cli.main(["submit", "--run", "nightly"])]

    lock.close()
    error = capsys.readouterr().err
    assert [2, 2] == statuses
    assert 2 == error.count("crmeval: the run 'nightly' is being run by process")


@pytest.mark.parametrize("how", [[], ["--detach"]])
def test_job_that_cannot_be_started_does_not_change(
    here: Path, capsys: pytest.CaptureFixture[str], how: list[str]
) -> None:
    """Its Python may no longer exist."""
    folder = here / "reports/nightly"
    folder.mkdir(parents=True)
    write_job(folder, replace(JOB, cwd=str(here)))

    assert 2 == cli.main(["run", "nightly", *how])
    assert "crmeval: /nowhere/python: No such file or directory; the run nightly was not started\n" in (
        capsys.readouterr().err
    )
    assert State.SUBMITTED is read_job(folder).state


def test_stop_of_a_run_that_is_not_running_does_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = here / "reports/nightly"
    folder.mkdir(parents=True)
    write_job(folder, replace(JOB, state=State.RUNNING))
    (folder / "lock").write_text('{"pid": 1, "birth": "another-boot 1", "host": "here", "since": "1970"}')

    assert 0 == cli.main(["stop", "nightly"])
    assert "run nightly is not running: it is lost\n" == capsys.readouterr().out


@pytest.mark.parametrize("changes", [{"host": "elsewhere"}, {"birth": "another-boot 1"}])
def test_process_that_may_not_be_the_run_gets_no_signal(
    here: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, str]
) -> None:
    """It is on another machine, or its process id was reused."""
    folder = here / "reports/nightly"
    folder.mkdir(parents=True)
    lock = FolderLock.take(folder)
    lock.sign(replace(Holder.of(1), **changes))  # type: ignore[arg-type] # of one kind

    assert 2 == cli.main(["stop", "nightly"])
    assert "crmeval: run 'nightly' can't be stopped from here: it is running as process 1 on" in capsys.readouterr().err
    lock.close()


@pytest.fixture
def runs(here: Path) -> Path:
    """Write runs of several kinds."""
    for number, (name, changes) in enumerate(
        {
            "nightly": {"state": State.FINISHED, "exit_status": 1, "tasks": [TASK]},
            "mistaken": {"state": State.FINISHED, "exit_status": 4},
            "gone": {"state": State.RUNNING, "tasks": [TASK, replace(TASK, subject="claude", cost=None)]},
            "many": {"state": State.STOPPED, "tasks": [replace(TASK, subject=f"a{n}", cost=0.0) for n in range(4)]},
            "held": {},
        }.items()
    ):
        folder = here / "reports" / name
        folder.mkdir(parents=True)
        submitted = f"2026-11-17T06:0{number}:00+00:00"
        write_job(folder, replace(JOB, id=name, submitted=submitted, **changes))  # type: ignore[arg-type] # as above
    return here


@pytest.mark.usefixtures("runs")
def test_list_shows_the_newest_first(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    """State, time, tasks, progress, pass rate, cost."""
    assert 0 == cli.main(["list"])
    assert snapshot == capsys.readouterr().out


@pytest.mark.usefixtures("runs")
def test_list_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["list", "--json"])

    document = json.loads(capsys.readouterr().out)
    assert "crmeval.runs/1" == document["schema"]
    states = {run["id"]: run["state"] for run in document["runs"]}
    assert {
        "nightly": "finished",
        "mistaken": "finished",
        "gone": "lost",
        "many": "stopped",
        "held": "submitted",
    } == states
    nightly = next(run for run in document["runs"] if run["id"] == "nightly")
    assert (12, 30, 0.12) == tuple(nightly[name] for name in ("done", "total", "cost"))
    assert (0.75, None) == tuple(nightly["tasks"][0][name] for name in ("pass_rate", "pass@1"))


def test_empty_list_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main(["list"])
    assert "no runs in reports; start one: crmeval submit evals/\n" == capsys.readouterr().out


def test_list_reports_runs_that_cannot_be_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are listed."""
    (here / "reports/torn").mkdir(parents=True)
    (here / "reports/torn/job.json").write_text("{")

    assert 0 == cli.main(["list"])
    captured = capsys.readouterr()
    assert "torn" in captured.out
    assert "torn/job.json: not a job" in captured.err


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Also those that are not loaded; each has its own help."""
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    page = capsys.readouterr().out
    for name, (_, what) in cli.COMMANDS.items():
        assert what in page
        with pytest.raises(SystemExit):
            cli.main([name, "--help"])
        assert f"usage: crmeval {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--agent", "bots:Half?token=zq81-kkw0"],
        ["--agent", "bots:Half?note=AKIAIOSFODNN7EXAMPLE"],
        ["--judge", "openai:m?api_key=zq81-kkw0"],
        ["--", "--crmeval-agent=bots:Half?token=zq81-kkw0"],
        ["--", "--token", "swordfish-4711-seas"],
    ],
)
def test_submit_refuses_a_secret_before_the_command_is_written(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """By its name, by its format, or because it is the value of a variable."""
    monkeypatch.setattr(cutting._Process, "redactor", None)  # noqa: SLF001 (made anew for this environment)
    monkeypatch.setenv("MY_TOKEN", "swordfish-4711-seas")

    assert 2 == cli.main(["submit", "--hold", "--run", "mine", *arguments])

    shown = capsys.readouterr()
    assert "a secret must not be part of the command" in shown.err
    assert [] == [secret for secret in ("zq81", "AKIA", "swordfish") if secret in shown.err + shown.out]
    assert [] == list(here.rglob("job.json"))


def test_submit_accepts_the_name_of_a_variable_in_a_spec() -> None:
    """The name is not a secret, and neither is a parameter that only sounds like one."""
    agent = "bots:Half?token=MY_TOKEN&max_tokens=800"

    assert ["evals", f"--crmeval-agent={agent}"] == submitted("--agent", agent)


def test_submit_accepts_a_folder_named_like_the_value_of_a_variable(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting._Process, "redactor", None)  # noqa: SLF001 (made anew for this environment)
    monkeypatch.setenv("PROJECT_KEY", "acme-crm-evals-2026")
    (here / "acme-crm-evals-2026").mkdir()

    assert ["acme-crm-evals-2026"] == submitted("acme-crm-evals-2026")
