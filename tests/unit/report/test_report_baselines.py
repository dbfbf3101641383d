"""The report that a run is compared with."""

import subprocess
from pathlib import Path

import pytest

from pytest_crmeval.journal.provenance import commit_at, datasets_of
from pytest_crmeval.report.baselines import BaselineError, is_of_run, load
from tests.fakes import planned, trial
from tests.kept_runs import keep


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a reports folder with one run."""
    keep(tmp_path / "reports", "old", [trial("one")])
    return tmp_path / "reports"


def git(folder: Path, *arguments: str) -> None:
    """Run git without the user's own settings."""
    who = ("-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)  # noqa: S607


@pytest.fixture
def committed(tmp_path: Path, folder: Path) -> Path:
    """Return a project in a subfolder of its repository, with a committed baseline that has been deleted."""
    project = tmp_path / "deep" / "project"
    project.mkdir(parents=True)
    (project / "baseline.json").write_bytes((folder / "old.json").read_bytes())
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "deep")
    git(tmp_path, "commit", "-q", "-m", "baseline")
    (project / "baseline.json").unlink()
    return project


@pytest.mark.parametrize("given", ["old", "latest", "reports/old.json", "reports/old", "reports/old/trials.jsonl"])
def test_baseline_is_a_run_or_a_file(folder: Path, given: str) -> None:
    """By id, or by any path to it."""
    found = load(given, folder, folder.parent, here=folder.parent)

    assert (given, "old", 1) == (found.source, found.report.run["id"], len(found.report.trials))


@pytest.mark.parametrize("given", ["git:main", "git:HEAD:baseline.json", "git:main:baseline.json"])
def test_committed_baseline_is_read(committed: Path, given: str) -> None:
    assert "old" == load(given, committed / "reports", committed).report.run["id"]


def test_settings_name_the_baseline(committed: Path) -> None:
    with pytest.raises(BaselineError, match=r"git:main.*kept\.json"):
        load("git:main", committed / "reports", committed, path="kept.json")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("nowhere", "has this id"),
        ("git:", "must be git:REF or git:REF:PATH"),
        ("git:--output=x", "must be git:REF or git:REF:PATH"),
        ("git:nobranch", "git:nobranch"),
        ("git:main:deep", "deep"),
    ],
)
def test_unavailable_baseline_is_reported(committed: Path, given: str, why: str) -> None:
    with pytest.raises(BaselineError, match=why):
        load(given, committed / "reports", committed)


def test_committed_file_that_is_not_a_report_is_reported(committed: Path) -> None:
    (committed / "baseline.json").write_text("[]")
    git(committed, "commit", "-q", "-a", "-m", "nonsense")

    with pytest.raises(BaselineError, match="not a report"):
        load("git:main", committed / "reports", committed)


def test_run_without_a_report_is_not_a_baseline(folder: Path) -> None:
    """It was killed."""
    (folder / "old.json").unlink()

    with pytest.raises(BaselineError, match="has no report yet"):
        load("old", folder, folder.parent)


def test_run_is_not_its_own_baseline(folder: Path) -> None:
    assert is_of_run("old", folder, "old")
    assert is_of_run(str(folder / "old.json"), folder, "old")
    assert not is_of_run("old", folder, "new")
    assert not is_of_run("git:main", folder, "old")
    assert not is_of_run("nowhere", folder, "old")


def test_report_has_the_commit_of_the_run(committed: Path) -> None:
    """And whether tracked files were modified: here the baseline was deleted."""
    found = commit_at(committed)

    assert (40, True) == (len(str(found["commit"])), found["dirty"])
    git(committed, "checkout", "-q", "--", ".")
    assert {**found, "dirty": False} == commit_at(committed)


def test_without_a_repository_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {} == commit_at(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {} == commit_at(tmp_path)


def test_dataset_is_identified_by_its_content() -> None:
    """Not by its order, the number of trials or the subjects."""
    cases = [planned("a"), planned("b"), planned("a", subject="gpt")]
    found = datasets_of(cases)

    assert found == datasets_of(cases[::-1])
    assert {"crm": 2} == {suite: about["cases"] for suite, about in found.items()}  # type: ignore[index, call-overload]
    assert found != datasets_of([planned("a"), planned("c")])
