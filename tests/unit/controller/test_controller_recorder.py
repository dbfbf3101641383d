"""From trials to journal, transcripts and counts."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_crmeval.channel import Finished
from pytest_crmeval.controller.recorder import Recorder
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.wire import encoded_quickly
from pytest_crmeval.journal.reader import read
from pytest_crmeval.journal.writer import JournalWriter
from pytest_crmeval.models.control import EVERYBODY
from pytest_crmeval.models.shared_control import SharedControl
from tests.fakes import planned

ONE, TWO = planned("one"), planned("two")
PART: dict[str, Any] = {"started": "2026-01-01T00:00:00+00:00"}


class Nothing:
    """A lock and a log that do nothing."""

    def take(self) -> None:
        """Take no lock."""

    def recorded(self, trial: Trial) -> None:
        """Log nothing."""


def recorder(folder: Path, control: SharedControl | None = None) -> Recorder:
    """Return the recorder of a run in this folder, which may be resumed."""
    nothing: Any = Nothing()
    options: Any = SimpleNamespace(
        run="r", folder=folder / "r", resumable=True, play_invalid=False, budget=None, learning_from="", judge=""
    )
    return Recorder(options, control or SharedControl(), nothing, nothing)


@pytest.fixture
def control() -> SharedControl:
    """Return the control of the run."""
    return SharedControl()


@pytest.fixture
def here(tmp_path: Path, control: SharedControl) -> Iterator[Recorder]:
    """Yield a recorder that is closed at the end."""
    with closing(recorder(tmp_path, control)) as made:
        yield made


def finished(trial: Trial, *, in_item: bool = False, **files: bytes) -> Finished:
    """Return the message of a played case."""
    return Finished(trial.planned.key, (encoded_quickly(trial.to_dict()), b""), files, in_item)


def passed(case: Any) -> Trial:  # noqa: ANN401 (a planned case)
    """Return a trial."""
    return Trial(planned=case, verdict=Verdict.PASSED, seconds=1.0)


def recorded(folder: Path) -> dict[str, Verdict]:
    """Return the content of the journal."""
    return {trial.planned.case: trial.verdict for trial in read(folder / "r" / "trials.jsonl").trials.values()}


def test_trial_is_in_the_journal_and_its_files_in_the_folder_of_transcripts(here: Recorder, tmp_path: Path) -> None:
    """A later part of the run does not play it again."""
    here.open(PART, [ONE, TWO])

    here.record(finished(passed(ONE), words=b"Hello."))
    here.close()

    assert {"one": Verdict.PASSED} == recorded(tmp_path)
    assert b"Hello." == (tmp_path / "r" / "transcripts" / "words").read_bytes()
    assert {(ONE.key, ONE.fingerprint, ONE.spec)} == recorder(tmp_path).done


def test_shared_files_of_transcripts_are_written_even_if_their_trial_is_not(here: Recorder, tmp_path: Path) -> None:
    """A worker sends each prompt once, and the next trial refers to it as well."""
    here.open(PART, [ONE, TWO])
    here.keep({"prompts/p.json": b"You are"})
    here.record(Finished(ONE.key, (b"", b"")))  # it was skipped
    here.record(finished(passed(TWO)))

    assert b"You are" == (tmp_path / "r" / "transcripts" / "prompts" / "p.json").read_bytes()


def test_cases_that_start_after_the_end_of_the_run_are_not_recorded_as_errored(here: Recorder, tmp_path: Path) -> None:
    """After SIGTERM a worker may start its next test while the controller is ending: that case was not run."""
    here.open(PART, [ONE, TWO])
    here.conclude()

    here.record(finished(Trial.errored(ONE, "the controller is gone"), in_item=True))
    here.record(finished(passed(TWO)))
    here.close()

    assert {"two": Verdict.PASSED} == recorded(tmp_path)


def test_trials_of_controls_that_end_after_the_report_are_not_recorded(here: Recorder, tmp_path: Path) -> None:
    """They cost nothing, and the journal would have more trials than the report; those of other agents are kept."""
    paid = replace(TWO, spec="bots:Closer")
    here.open(PART, [ONE, paid])
    here.conclude()

    here.record(finished(passed(ONE), in_item=True))
    here.record(finished(passed(paid), in_item=True))
    here.close()

    assert {"two": Verdict.PASSED} == recorded(tmp_path)


def test_report_of_an_item_takes_the_trial_of_its_case_once(here: Recorder) -> None:
    """If a plugin runs the test again, the last trial counts."""
    here.open(PART, [ONE])
    here.record(finished(Trial.errored(ONE, "lost connection")))
    here.record(finished(passed(ONE)))

    assert passed(ONE) == here.reported(ONE.key)
    assert here.reported(ONE.key) is None


def test_every_trial_of_a_case_that_all_workers_play_is_reported(here: Recorder) -> None:
    """With ``--dist each`` two workers may finish a case before the first of them reports it."""
    here.open(PART, [ONE], repeated=True)
    here.record(finished(Trial.errored(ONE, "lost connection")))
    here.record(finished(passed(ONE)))

    assert [Verdict.ERRORED, Verdict.PASSED] == [trial.verdict for _ in "ab" if (trial := here.reported(ONE.key))]


def test_case_whose_worker_died_is_errored_at_the_end_unless_it_was_played(here: Recorder) -> None:
    here.open(PART, [ONE, TWO])
    here.crashed(ONE.key, "worker 'gw0' crashed")
    here.crashed(TWO.key, "worker 'gw0' crashed")
    here.record(finished(passed(TWO)))

    found = here.conclude().record.trials

    assert {"one": Verdict.ERRORED, "two": Verdict.PASSED} == {
        each.planned.case: each.verdict for each in found.values()
    }
    assert "worker 'gw0' crashed" == found[ONE.key].reason


def test_trials_after_the_conclusion_do_not_change_it(here: Recorder) -> None:
    """The report is made from it while more trials arrive."""
    here.open(PART, [ONE, TWO])
    here.record(finished(passed(ONE)))
    found = here.conclude()
    here.record(finished(passed(TWO)))

    assert [ONE.key] == list(found.record.trials) == list(found.played)
    assert [passed(ONE)] == found.unreported


@pytest.mark.parametrize("at", ["sync", "conclude", "close"])
def test_disk_error_is_a_failure_with_a_message(
    here: Recorder, control: SharedControl, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """Whenever the journal is synced; nothing more is played."""

    def fail(_: JournalWriter) -> None:
        raise OSError(5, "Input/output error")

    here.open(PART, [ONE])
    here.record(finished(passed(ONE)))
    monkeypatch.setattr(JournalWriter, "sync", fail)
    getattr(here, at)()

    assert here.failure.endswith("trials.jsonl: Input/output error; finished trials are saved")
    assert here.failure == control.stopped[EVERYBODY]


def test_cost_outside_trials_is_recorded_at_the_end(here: Recorder, tmp_path: Path, control: SharedControl) -> None:
    """It was spent on a trial that was interrupted, or whose worker died."""
    here.open(PART, [ONE])
    control.spend(0.25)

    assert 0.25 == here.conclude().record.spent
    control.spend(0.5)
    here.close()
    assert 0.75 == read(tmp_path / "r" / "trials.jsonl").spent
