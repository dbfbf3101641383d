"""The location of a run that is given by id or path."""

from pathlib import Path

import pytest

from pytest_crmeval.journal.places import NoRunError, place_of
from tests.fakes import trial
from tests.kept_runs import keep


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a project with a run, and with the report of another."""
    monkeypatch.chdir(tmp_path)
    keep(tmp_path / "reports", "mine", [trial("one")])
    keep(tmp_path / "reports", "bare", [trial("one")])
    (tmp_path / "reports" / "bare" / "trials.jsonl").unlink()
    return tmp_path / "reports"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("mine", "mine/trials.jsonl"),
        ("reports/mine", "mine/trials.jsonl"),
        ("reports/mine/", "mine/trials.jsonl"),
        ("reports/mine.json", "mine.json"),
        ("reports/mine/trials.jsonl", "mine/trials.jsonl"),
        ("reports/latest.json", "latest.json"),
        ("bare", "bare.json"),
        ("reports/bare", "bare.json"),
    ],
)
def test_run_is_found_by_id_or_path(reports: Path, given: str, found: str) -> None:
    assert (reports / found).resolve() == place_of(given, reports).resolve()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("other", "has this id, and there is no such file or folder"),
        ("reports/other", "'reports/other': "),
        ("reports", "'reports': the folder has no journal (trials.jsonl); give the folder of a run"),
        ("x" * 300, "there is no such file or folder"),
        ("", "the folder has no journal"),
        ("..", "the folder has no journal"),
    ],
)
def test_invalid_run_is_refused(reports: Path, given: str, why: str) -> None:
    with pytest.raises(NoRunError) as error:
        place_of(given, reports)

    assert why in str(error.value)
