"""``crmeval status``: once, for scripts, or until the run ends."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_crmeval import cli
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.journal.locks import FolderLock
from pytest_crmeval.journal.writer import JournalWriter
from tests.fakes import planned, trial
from tests.kept_runs import keep
from tests.screens import terminal

PART = {"started": "2026-11-16T02:38:47+00:00", "command": "pytest evals/"}
STATUS = ("pytest_crmeval.cli", "status")


class Nightly:
    """A run in progress in this process."""

    def __init__(self, reports: Path) -> None:
        self.reports = reports
        self.folder = reports / "nightly"
        self.folder.mkdir(parents=True)
        self._lock = ExitStack()
        self._lock.callback(FolderLock.take(self.folder).close)
        self._journal = JournalWriter.open(self.folder / "trials.jsonl")
        self._journal.part(PART, [planned("one"), planned("two")])

    def play(self, case: str, verdict: Verdict = Verdict.PASSED) -> None:
        """Record a case."""
        self._journal.trial(trial(case, verdict))

    def end(self) -> None:
        """Remove its process."""
        self._journal.close()
        self._lock.close()


@pytest.fixture
def nightly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nightly]:
    """Start a run in the project, and change to it."""
    monkeypatch.chdir(tmp_path)
    made = Nightly(tmp_path / "reports")
    yield made
    made.end()


Step = Callable[[], None]
Asleep = Callable[..., None]


@pytest.fixture
def asleep(monkeypatch: pytest.MonkeyPatch) -> Asleep:
    """Return a function that changes the run between two updates of the command."""

    def happens(*steps: Step) -> None:
        left = iter(steps)
        monkeypatch.setattr("pytest_crmeval.cli.status.time.sleep", lambda _: next(left)())

    return happens


def nothing() -> None:
    """Let time pass."""


def test_latest_run_is_shown_once(nightly: Nightly, capsys: pytest.CaptureFixture[str]) -> None:
    """By default."""
    nightly.play("one")

    assert 0 == cli.main(["status"])
    head, columns, row = capsys.readouterr().out.splitlines()
    assert head.startswith("run nightly: running, for ")
    assert ["suite", "×", "subject", "done"] == columns.split()[:4]
    assert ["crm", "×", "oracle", "1/2", "1", "0", "1.000"] == row.split()[:7]


def test_status_prints_json(nightly: Nightly, capsys: pytest.CaptureFixture[str]) -> None:
    nightly.play("one", Verdict.FAILED)

    cli.main(["status", "nightly", "--json"])

    document = json.loads(capsys.readouterr().out)
    assert ("crmeval.status/1", "running", 1) == (document["schema"], document["state"], document["total"]["failed"])


def test_shown_commands_name_the_reports_folder(
    nightly: Nightly, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If it is not the default."""
    nightly.play("one")
    nightly.play("two")
    nightly.end()
    monkeypatch.chdir("/")

    cli.main(["status", "--reports", str(nightly.reports)])

    assert capsys.readouterr().out.endswith(f"figures: crmeval report nightly --reports {nightly.reports}\n")


@pytest.mark.usefixtures("nightly")
def test_missing_run_is_reported_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main(["status", "nigthly"])

    said = capsys.readouterr()
    assert ("", 1) == (said.out, said.err.count("\n"))
    assert said.err.endswith("; did you mean nightly?\n")


@pytest.mark.usefixtures("nightly")
def test_run_with_only_a_report_names_the_command_that_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tmp_path / "reports", "old", [trial("one")])
    shutil.rmtree(tmp_path / "reports/old")

    assert 2 == cli.main(["status", "old"])
    assert "crmeval: run 'old' has only a report: crmeval report old\n" == capsys.readouterr().err


def test_invalid_journal_is_reported_in_one_line(nightly: Nightly, capsys: pytest.CaptureFixture[str]) -> None:
    (nightly.folder / "trials.jsonl").write_text("nonsense\n")

    assert 2 == cli.main(["status"])
    assert "trials.jsonl:1: not a line of a journal" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "soon", "1e9"])
def test_interval_must_be_a_time(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["status", "--watch", "--interval", seconds])

    assert "--interval" in capsys.readouterr().err


def test_output_to_a_pipe_has_a_line_per_change(
    nightly: Nightly, asleep: Asleep, capsys: pytest.CaptureFixture[str]
) -> None:
    """None if nothing changes, and the table at the end."""
    asleep(nothing, lambda: nightly.play("one"), nothing, lambda: nightly.play("two"), nightly.end)

    assert 0 == cli.main(["status", "--watch"])
    *changes, head, _, _, figures = capsys.readouterr().out.splitlines()
    assert ["0/2 done", "1/2 done", "2/2 done"] == [line.split(": ")[1].split(",")[0] for line in changes]
    assert head.startswith("run nightly: finished")
    assert "figures: crmeval report nightly" == figures


def test_json_has_a_document_per_change(nightly: Nightly, asleep: Asleep, capsys: pytest.CaptureFixture[str]) -> None:
    """One per line."""
    asleep(lambda: nightly.play("one"), lambda: nightly.play("two"), nightly.end)

    cli.main(["status", "--watch", "--json"])

    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    states = [(document["state"], document["total"]["done"]) for document in documents]
    assert [("running", 0), ("running", 1), ("running", 2), ("finished", 2)] == states


def test_lost_run_ends_the_watching(nightly: Nightly, asleep: Asleep, capsys: pytest.CaptureFixture[str]) -> None:
    asleep(nightly.end)

    assert 1 == cli.main(["status", "--watch"])
    assert capsys.readouterr().out.endswith("resume with:\n  pytest evals/ --crmeval-run nightly\n")


@pytest.mark.usefixtures("nightly")
def test_ctrl_c_ends_only_the_watching(asleep: Asleep, capsys: pytest.CaptureFixture[str]) -> None:
    def press() -> None:
        raise KeyboardInterrupt

    asleep(press)

    assert 130 == cli.main(["status", "--watch"])
    assert "crmeval: no longer watching; the run continues\n" == capsys.readouterr().err


def test_status_in_a_pipe_imports_nothing_slow(nightly: Nightly) -> None:
    slow = ["rich", "pytest", "_pytest", "openai", "anthropic", "psycopg", "pytest_crmeval.domain.trial"]
    looking = f"print([name for name in {slow} if name in sys.modules])"
    script = f"import sys; from pytest_crmeval.cli import main; main(['status']); {looking}"

    said = subprocess.run([sys.executable, "-c", script], cwd=nightly.reports.parent, capture_output=True, check=True)

    assert b"[]" == said.stdout.splitlines()[-1]


@pytest.mark.parametrize("columns", [40, 80])
def test_table_on_a_terminal_is_live(nightly: Nightly, columns: int) -> None:
    """It is always up to date, and ends with the run."""
    with terminal(nightly.reports.parent, *STATUS, "--watch", "--interval", "0.1", columns=columns) as shown:
        shown.until(" 0/2")
        nightly.play("one")
        shown.until(" 1/2")
        nightly.play("two", Verdict.FAILED)
        shown.until(" 2/2")
        nightly.end()

        assert 1 == shown.end()
    assert 1 == sum(" 2/2" in line for line in shown.everything)
    assert not [line for line in shown.everything if "0/2" in line or "1/2" in line]
    assert shown.everything[0].startswith("run nightly: finished")


def test_ctrl_c_on_a_terminal_leaves_at_once(nightly: Nightly) -> None:
    with terminal(nightly.reports.parent, *STATUS, "--watch", "--interval", "600") as shown:
        shown.until(" 0/2")
        shown.press_ctrl_c()

        assert 130 == shown.end()
    assert not shown.shows("Traceback")
    assert shown.shows("crmeval: no longer watching; the run continues")
