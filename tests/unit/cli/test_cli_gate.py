"""``crmeval gate``: one subject of a run, and the baseline that the run was compared with."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval import cli
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.compare import compare
from tests.fakes import planned, trial
from tests.kept_runs import keep

NOT_WORSE = ("--gate", "crm.pass_rate not worse than baseline")
GATES = "[pytest]\ncrmeval_gates =\n  crm.pass_rate >= 0.60\n  crm[claude].pass_rate >= 0.99\n"


def played(subject: str, passed: int = 10, verdict: Verdict = Verdict.FAILED) -> list[Trial]:
    """Return ten trials of a subject, of which this number passed."""
    cases = [planned(str(n), subject=subject) for n in range(10)]
    return [
        trial(replace(case, key=f"{case.key}-{subject}"), Verdict.PASSED if n < passed else verdict)
        for n, case in enumerate(cases)
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with a run: gpt-4.1 is complete, claude errored and is not."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text(GATES)
    claude = played("claude", 8, Verdict.ERRORED)
    keep(
        tmp_path / "reports",
        "both",
        [*played("gpt-4.1", 9), *claude],
        not_run=[planned("more", subject="claude")],
        red=[claude[0].planned.key],
    )
    return tmp_path / "reports"


def test_complete_subject_of_an_incomplete_run_is_evaluated_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each subject has its own exit status; gates about other subjects are not evaluated."""
    assert 1 == cli.main(["gate", "both"])
    capsys.readouterr()

    assert 0 == cli.main(["gate", "both", "--subject", "gpt-4.1"])
    shown = capsys.readouterr().out
    assert "gate crm.pass_rate >= 0.60: holds (pass_rate is 0.900; " in shown
    assert "gate crm[claude].pass_rate >= 0.99: not evaluated (it is not about gpt-4.1)" in shown
    assert "claude " not in shown
    assert 1 == cli.main(["gate", "both", "--subject", "claude"])
    assert "1 of 11 cases were not run" in capsys.readouterr().out
    assert folder.is_dir()


def test_subject_is_evaluated_from_the_journal_if_the_run_has_no_report(folder: Path) -> None:
    """It is still running, or was killed."""
    (folder / "both.json").unlink()
    (folder / "latest.json").unlink()

    assert 0 == cli.main(["gate", "both", "--subject", "gpt-4.1"])
    assert 1 == cli.main(["gate", "both", "--subject", "gpt-4.1", "--gate", "crm.pass_rate >= 0.95"])
    assert 2 == cli.main(["gate", "both"])


def test_subject_is_evaluated_from_its_report_if_there_is_no_journal(folder: Path) -> None:
    """CI may store only the report."""
    shutil.rmtree(folder / "both")

    assert 0 == cli.main(["gate", "reports/both.json", "--subject", "gpt-4.1"])


@pytest.mark.parametrize(
    ("options", "status", "why"),
    [
        (("--subject", "gpt-5"), 2, "no such subject in this run; subjects: claude, gpt-4.1"),
        (("--subject", "gpt-4.1", "--gate", "crm[claude].errored == 0"), 1, "crm has no subject 'claude'"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_subject_or_gate_that_cannot_be_evaluated_is_an_error(
    options: tuple[str, ...], status: int, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A gate of the command line is always evaluated."""
    assert status == cli.main(["gate", "both", *options])
    assert why in "".join(capsys.readouterr())


def test_gates_about_other_subjects_only_are_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Evaluating nothing is not a success."""
    (folder.parent / "pytest.ini").write_text("[pytest]\ncrmeval_gates = crm[claude].pass_rate >= 0.99\n")

    assert 2 == cli.main(["gate", "both", "--subject", "gpt-4.1"])
    assert "there is no gate about gpt-4.1" in capsys.readouterr().err


@pytest.fixture
def compared(folder: Path) -> Path:
    """Store a run, and a worse one that was compared with it."""
    before = keep(folder, "before", played("gpt-4.1"))
    after = keep(folder, "after", played("gpt-4.1", 2))
    reports.save(replace(after, comparison=compare(after, before, source="before")), folder / "after.json")
    return folder


def test_gates_use_the_baseline_of_the_run(compared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No other baseline is named; the gate uses the comparison that is printed above it."""
    assert 1 == cli.main(["gate", "after", *NOT_WORSE])
    shown = capsys.readouterr().out

    assert "pass_rate went from 1.000 to 0.200 over 10 cases" in shown
    assert "no baseline: name one" not in shown
    assert compared.is_dir()


@pytest.mark.parametrize("replaced", [False, True])
def test_missing_or_replaced_baseline_of_the_run_is_named(
    compared: Path,
    capsys: pytest.CaptureFixture[str],
    replaced: bool,  # noqa: FBT001 (a parameter)
) -> None:
    """The error names the option of this command."""
    shutil.rmtree(compared / "before")
    document = json.loads((compared / "before.json").read_text())
    document["run"]["started"] = "2026-11-17T00:00:00+00:00"
    (compared / "before.json").unlink()
    if replaced:
        (compared / "before.json").write_text(json.dumps(document))

    assert 1 == cli.main(["gate", "after", *NOT_WORSE])
    shown = capsys.readouterr().out

    assert "no baseline: name one with --baseline (pytest: --crmeval-baseline) or crmeval_baseline" in shown
    assert "the baseline of the run (before) no longer exists or has changed; name one with --baseline" in shown
    assert 1 == cli.main(["gate", "after", "--gate", "crm.pass_rate >= 0.5"])
    assert "the baseline of the run" not in capsys.readouterr().out
