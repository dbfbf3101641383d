"""GitHub Actions: a summary of the step, and annotations."""

from dataclasses import replace
from pathlib import Path

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.render import github as actions
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.compare import compare
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.ruling import Ruling
from tests.fakes import trial

IN_ACTIONS = {"GITHUB_ACTIONS": "true"}


def report(*verdicts: Verdict) -> Report:
    """Return the report of so many cases."""
    trials = [trial(str(n), verdict) for n, verdict in enumerate(verdicts)]
    return reports.build({"id": "mine", "started": "now"}, {each.planned.key: each for each in trials}, [])


def test_a_summary_is_appended(tmp_path: Path) -> None:
    """Other steps have written there, too."""
    path = tmp_path / "summary.md"
    path.write_text("before\n")

    assert "" == actions.write_summary(report(Verdict.PASSED), {actions.SUMMARY: str(path)})
    assert path.read_text().startswith("before\n## crmeval mine: complete; no gate was evaluated\n")


def test_summary_is_only_written_in_github_actions() -> None:
    assert "" == actions.write_summary(report(Verdict.PASSED), {})
    assert [] == list(
        actions.annotations(replace(report(), rulings=[Ruling(gate="g", holds=False, explanation="e")]), {})
    )


def test_unwritable_step_summary_is_reported(tmp_path: Path) -> None:
    """It is no reason to lose a run."""
    shown = actions.write_summary(report(Verdict.PASSED), {actions.SUMMARY: str(tmp_path)})

    assert shown.startswith("the step summary could not be written: ")


def test_breaches_and_new_failures_are_annotated() -> None:
    """Gates that hold are not; what GitHub would take for its own syntax is escaped."""
    after, before = report(Verdict.FAILED, Verdict.PASSED), report(Verdict.PASSED, Verdict.PASSED)
    rulings = [
        Ruling(gate="crm.pass_rate >= 0.6", holds=False, explanation="50%\nof them", subject="gpt"),
        Ruling(gate="crm.failed < 9", holds=True, explanation="failed is 1"),
    ]
    found = replace(after, rulings=rulings, comparison=compare(after, before))

    assert [
        "::error title=crmeval gate::crm.pass_rate >= 0.6 (gpt): 50%25%0Aof them",
        "::warning title=crmeval::crm, oracle: 0 newly fails: state is too low",
    ] == list(actions.annotations(found, IN_ACTIONS))


def test_annotations_are_limited_to_ten() -> None:
    """GitHub shows ten of a kind."""
    rulings = [Ruling(gate=str(n), holds=False, explanation="no") for n in range(30)]

    assert 10 == len(list(actions.annotations(replace(report(), rulings=rulings), IN_ACTIONS)))


def test_a_summary_is_not_larger_than_github_takes(tmp_path: Path) -> None:
    """Cut, and says so."""
    rulings = [Ruling(gate=f"gate {n}", holds=False, explanation="x" * 2000) for n in range(700)]
    path = tmp_path / "summary.md"

    actions.write_summary(replace(report(), rulings=rulings), {actions.SUMMARY: str(path)})

    assert path.stat().st_size < 2**20
    assert path.read_text(encoding="utf-8").endswith("(truncated; see the report)\n")
