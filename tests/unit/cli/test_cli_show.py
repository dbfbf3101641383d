"""``crmeval show``: a case with its dialogue, or a list of failures."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval import cli
from pytest_crmeval.domain.messages import Reply, agent_says, user_says
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal import transcripts
from tests.fakes import planned, trial
from tests.kept_runs import keep

DIALOGUE = Transcript(exchanges=[Exchange(messages=[user_says("Add Ada."), agent_says(Reply(text="Done."))])])


def failed(case: str, subject: str) -> Trial:
    """Return a trial with a dialogue that failed in its only turn."""
    wrong = Score(name="calls", value=0.0, reason="turn 1: not made: create_new_client()")
    found = trial(planned(case, subject=subject), Verdict.FAILED)
    return replace(found, scores=(wrong,), transcript=DIALOGUE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Store a run of two subjects with transcripts, and change to the folder of its reports."""
    monkeypatch.chdir(tmp_path)
    trials = [failed("one", "mine"), failed("one", "other"), trial(planned("two", subject="mine"))]
    keep(tmp_path / "reports", "nightly", trials)
    for each in trials:
        transcripts.write(tmp_path / "reports/nightly/transcripts", each)
    return tmp_path / "reports"


@pytest.mark.usefixtures("folder")
def test_case_is_shown_with_its_dialogue_and_faults(capsys: pytest.CaptureFixture[str]) -> None:
    """For one subject, if one is named; the path of the transcript is the last line."""
    assert 0 == cli.main(["show", "one", "--subject", "mine", "--run", "nightly"])

    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("mine failed one (crm, ")
    assert [
        "  turn 1",
        "    user   Add Ada.",
        "    agent  Done.",
        "    ✗ calls: not made: create_new_client()",
        "reports/nightly/transcripts/crm/mine/one.json",
    ] == lines


@pytest.mark.usefixtures("folder")
def test_case_of_several_subjects_is_shown_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    """In the order in which they were played; the run is the latest by default."""
    assert 0 == cli.main(["show", "one"])

    said = capsys.readouterr().out
    assert said.index("mine failed one") < said.index("other failed one")


@pytest.mark.usefixtures("folder")
def test_without_a_case_failures_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main(["show", "--subject", "other"])
    assert "crm  other  one  failed: calls: turn 1: not made: create_new_client()\n" == capsys.readouterr().out

    assert 0 == cli.main(["show", "--subject", "mine", "--trial", "7"])
    assert "every case passed\n" == capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_unknown_case_is_an_error_with_similar_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main(["show", "ones", "--subject", "mine"])

    assert (
        "crmeval: no case 'ones' in run 'latest', subject mine; similar: one; "
        "to list the failures: crmeval show --run latest\n"
    ) == capsys.readouterr().err


def test_confidential_dialogue_is_not_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its transcript is encrypted, so that it is not read by accident."""
    transcripts.write(folder / "nightly/transcripts", failed("one", "mine"), canary="canary")

    assert 0 == cli.main(["show", "one", "--subject", "mine"])

    said = capsys.readouterr().out
    assert "Add Ada." not in said
    assert said.endswith("(confidential: the dialogue is not shown)\n")


def test_case_without_a_transcript_is_shown_by_its_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Transcripts can be deleted to save space."""
    (folder / "nightly/transcripts/crm/mine/one.json").unlink()

    assert 0 == cli.main(["show", "one", "--subject", "mine"])

    assert "(no transcript in " in capsys.readouterr().out
