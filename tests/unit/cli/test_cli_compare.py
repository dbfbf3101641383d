"""``crmeval compare`` and ``crmeval gate``."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval import cli
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.ruling import Ruling
from tests.fakes import planned, trial
from tests.kept_runs import keep, part

FAILED = Verdict.FAILED


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with two runs: eight of ten passed, then one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\ncrmeval_gates = crm.pass_rate >= 0.60\n")
    for run, passing in (("old", 8), ("new", 1)):
        trials = [trial(str(n)) if n < passing else trial(str(n), FAILED) for n in range(10)]
        keep(tmp_path / "reports", run, trials)
    return tmp_path / "reports"


@pytest.mark.usefixtures("folder")
def test_two_runs_are_compared_case_by_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main(["compare", "old", "new"])
    shown = capsys.readouterr().out.splitlines()

    row = next(line.split() for line in shown if line.startswith("crm "))
    assert ["crm", "oracle", "10", "0.800", "0.100", "-0.700"] == row[:6]
    assert ["0", "7", "0.016", "*"] == row[9:13]
    assert "newly failing in crm, oracle: 7" in shown


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", [["compare", "old", "new"], ["list"], ["show", "--run", "new"], ["show", "9"]])
def test_output_fits_the_width_of_a_terminal(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "42")

    assert 0 == cli.main(command)

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 42, lines


@pytest.mark.usefixtures("folder")
def test_comparison_is_printed_as_json_and_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main(["compare", "old", "new", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert ("crmeval.comparison/1", "old", 10) == (
        document["schema"],
        document["baseline"]["id"],
        document["contrasts"][0]["paired"],
    )

    assert 0 == cli.main(["compare", "old", "reports/new.json", "--md"])
    assert capsys.readouterr().out.startswith("### new vs old\n")


def test_two_subjects_of_a_run_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By their names in brackets: both or none, and only those that exist."""
    trials = [trial(planned("a", subject="x"), FAILED), trial(planned("a", subject="y"))]
    keep(folder, "both", trials)

    assert 0 == cli.main(["compare", "both[x]", "both[y]"])
    assert "y vs x" in capsys.readouterr().out
    assert 2 == cli.main(["compare", "both[x]", "both"])
    assert 2 == cli.main(["compare", "both[x]", "both[z]"])
    assert "this run has no subject 'z'; subjects: x, y" in capsys.readouterr().err


def test_runs_without_common_cases_are_not_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(folder, "other", [trial(planned("a", suite="q"))])

    assert 2 == cli.main(["compare", "old", "other"])
    assert 2 == cli.main(["compare", "old", "nowhere"])
    assert "nothing in common" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_gate_command_evaluates_the_gates_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    """Eight of ten are enough, one is not."""
    assert 0 == cli.main(["gate", "old"])
    assert 1 == cli.main(["gate", "reports/new.json"])

    shown = capsys.readouterr().out
    assert (
        "gate crm.pass_rate >= 0.60: holds (pass_rate is 0.800; 95 % interval 0.490 to 0.943; margin +0.200; " in shown
    )
    assert "gate crm.pass_rate >= 0.60: BREACHED (pass_rate is 0.100; " in shown


@pytest.mark.usefixtures("folder")
def test_stored_report_is_evaluated_by_other_gates(capsys: pytest.CaptureFixture[str]) -> None:
    """And against another baseline; the report does not change."""
    before = Path("reports/new.json").read_bytes()
    worse = ("--gate", "crm.pass_rate not worse than baseline")

    assert 1 == cli.main(["gate", "new", "--baseline", "old", *worse])
    assert 0 == cli.main(["gate", "old", "--baseline", "new", *worse])
    assert 1 == cli.main(["gate", "old", *worse])
    assert "no baseline: name one" in capsys.readouterr().out
    assert before == Path("reports/new.json").read_bytes()


def test_baseline_can_be_in_the_settings(folder: Path) -> None:
    (folder.parent / "pytest.ini").write_text("[pytest]\ncrmeval_baseline = kept.json\n")
    (folder.parent / "kept.json").write_bytes((folder / "old.json").read_bytes())

    assert 1 == cli.main(["gate", "new", "--gate", "crm.pass_rate not worse than baseline"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--gate", "crm.recall > 1"), "expected a metric"),
        (("--baseline", "nowhere"), "baseline 'nowhere'"),
        (("--reports", "elsewhere"), "has this id"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_gate_command_reports_what_can_not_be_evaluated(
    options: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == cli.main(["gate", "old", *options])
    assert why in capsys.readouterr().err


def test_gate_command_needs_a_gate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder.parent / "pytest.ini").write_text("[pytest]\n")

    assert 2 == cli.main(["gate", "old"])
    assert "there is no gate" in capsys.readouterr().err


def test_incomplete_run_breaches_every_gate(folder: Path) -> None:
    keep(folder, "part", [trial("a")], not_run=[planned("b", suite="q")])

    assert 1 == cli.main(["gate", "part"])


def test_run_with_an_errored_trial_does_not_pass(folder: Path) -> None:
    keep(folder, "broken", [trial("a"), trial("b", Verdict.ERRORED)])

    assert 1 == cli.main(["gate", "broken"])


def test_gate_of_the_command_line_is_evaluated_even_if_its_subject_is_misspelt(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(folder, "chosen", [trial("a")], parts=[part(agents=["oracle"], chosen=True, partial=True)])
    gates = ("crm.errored == 0", "crm[orcale].passed > 0", "crn.passed > 0")
    lines = "".join(f"\n    {gate}" for gate in gates)
    (folder.parent / "pytest.ini").write_text(f"[pytest]\ncrmeval_gates ={lines}\n")

    assert 0 == cli.main(["gate", "chosen"])
    assert 2 == capsys.readouterr().out.count(": not evaluated")
    assert 1 == cli.main(["gate", "chosen", *(word for gate in gates for word in ("--gate", gate))])
    assert 2 == capsys.readouterr().out.count(": BREACHED")


@pytest.mark.parametrize("holds", [True, False])
def test_stored_rulings_of_plugins_are_shown_and_count(
    folder: Path, *, holds: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    report = keep(folder, "own", [trial("a")])
    found = Ruling(gate="few tools fail", holds=holds, explanation="2 do", of_plugin=True)
    rule = Ruling(gate="crm.failed == 0", holds=False, explanation="of another day")
    reports.save(replace(report, rulings=(rule, found)), folder / "own.json")

    assert (0 if holds else 1) == cli.main(["gate", "own"])
    shown = capsys.readouterr().out.splitlines()
    assert f"gate few tools fail: {'holds' if holds else 'BREACHED'} (2 do)" in shown
    assert (
        "gates of plugins are those stored by the run; evaluate them again with: pytest --crmeval-run own" == shown[-1]
    )
    assert not [line for line in shown if "of another day" in line]
