"""The runs of a folder."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill
from pytest_crmeval.journal.index import NoSuchRunError, folder_of, is_only_report, point, run_of, runs_in, tasks_of
from pytest_crmeval.journal.jobs import BackgroundRun, State, Task, write_job
from pytest_crmeval.journal.locks import FolderLock
from pytest_crmeval.journal.writer import JournalWriter
from pytest_crmeval.report import files as reports
from tests.fakes import planned, trial

STARTED = "2026-11-17T06:00:00+00:00"
CASES = [planned(name) for name in ("one", "two", "three")]
TRIALS = [replace(trial("one"), bill=Bill(cost=0.25)), replace(trial("two", Verdict.FAILED), bill=Bill(cost=0.5))]
COUNTED = {"total": 3, "passed": 1, "failed": 1, "cost": 0.75}


def journalled(folder: Path, trials: Sequence[Trial] = TRIALS) -> None:
    """Write the journal of a run."""
    journal = JournalWriter.open(folder / "trials.jsonl")
    journal.part({"started": STARTED}, CASES)
    for each in trials:
        journal.trial(each)
    journal.close()


def reported(folder: Path, trials: Sequence[Trial] = TRIALS) -> None:
    """Write the report of a run."""
    found = {each.planned.key: each for each in trials}
    folder.parent.mkdir(exist_ok=True)
    reports.write(reports.build({"id": folder.name, "started": STARTED}, found, CASES), folder.parent)


def submitted(folder: Path, **changes: object) -> BackgroundRun:
    """Write a job."""
    folder.mkdir(parents=True, exist_ok=True)
    job = BackgroundRun(id=folder.name, command=["pytest"], cwd="/", submitted=STARTED)
    job = replace(job, **changes)  # type: ignore[arg-type] # of several kinds
    write_job(folder, job)
    return job


def counts(tasks: Sequence[Task]) -> dict[str, object]:
    """Return the counts of the only task."""
    (task,) = tasks
    return {name: getattr(task, name) for name in COUNTED}


def test_progress_of_a_run_is_read_from_its_journal(tmp_path: Path) -> None:
    """By suite and subject; cases that were not played count, too."""
    journalled(tmp_path)

    assert COUNTED == counts(tasks_of(tmp_path))


def test_one_unknown_price_makes_a_cost_unknown(tmp_path: Path) -> None:
    """It is not zero."""
    journalled(tmp_path, [TRIALS[0], replace(TRIALS[1], bill=Bill(cost=None))])

    (task,) = tasks_of(tmp_path)
    assert task.cost is None


def test_case_that_is_being_repeated_is_not_done(tmp_path: Path) -> None:
    journalled(tmp_path, [trial("one", Verdict.ERRORED), trial("two")])
    journal = JournalWriter.open(tmp_path / "trials.jsonl")
    journal.part({"started": STARTED}, [CASES[0], CASES[2]])
    journal.close()

    (task,) = tasks_of(tmp_path)
    assert (1, 3, 0) == (task.done, task.total, task.errored)


def test_half_written_last_line_is_ignored(tmp_path: Path) -> None:
    journalled(tmp_path)
    with (tmp_path / "trials.jsonl").open("ab") as file:
        file.write(b'{"trial": {"key"')

    assert COUNTED == counts(run_of(tmp_path).tasks)


@pytest.mark.parametrize("complete", [True, False])
def test_run_that_was_not_submitted_is_found_by_its_report(tmp_path: Path, *, complete: bool) -> None:
    """It is finished if nothing is missing."""
    trials = [*TRIALS, trial("three")] if complete else TRIALS
    journalled(tmp_path / "mine", trials)
    reported(tmp_path / "mine", trials)

    (run,) = runs_in(tmp_path)
    assert (State.FINISHED if complete else State.STOPPED) is run.state
    assert ("mine", STARTED, None) == (run.id, run.when, run.job)
    assert {**COUNTED, "passed": 1 + complete} == counts(run.tasks)


def test_report_without_its_folder_is_a_run(tmp_path: Path) -> None:
    reported(tmp_path / "mine")

    assert ["mine"] == [run.id for run in runs_in(tmp_path)]


def test_journal_without_a_report_belongs_to_a_running_or_lost_run(tmp_path: Path) -> None:
    """The lock decides."""
    journalled(tmp_path / "mine")
    lost = run_of(tmp_path / "mine").state
    lock = FolderLock.take(tmp_path / "mine")
    running = run_of(tmp_path / "mine").state
    lock.close()

    assert (State.LOST, State.RUNNING) == (lost, running)


def test_lost_job_is_counted_by_its_journal(tmp_path: Path) -> None:
    """Its own counts may be a second old."""
    submitted(tmp_path, state=State.RUNNING, tasks=[Task(suite="crm", subject="oracle", total=3)])
    journalled(tmp_path)

    run = run_of(tmp_path)
    assert State.LOST is run.state
    assert COUNTED == counts(run.tasks)


def test_finished_job_is_counted_by_its_own_counts(tmp_path: Path) -> None:
    """A list of many runs reads no journals."""
    job = submitted(tmp_path, state=State.FINISHED, tasks=[Task(suite="crm", subject="oracle", total=9, passed=9)])

    assert tuple(job.tasks) == tuple(run_of(tmp_path).tasks)


def test_newest_run_comes_first(tmp_path: Path) -> None:
    """Even if a clock was wrong: a run that seems to begin tomorrow is listed."""
    submitted(tmp_path / "b", submitted="2026-11-17T05:00:00+00:00")
    submitted(tmp_path / "a", submitted="2026-11-17T06:00:00+00:00")
    submitted(tmp_path / "c", submitted="2999-01-01T00:00:00+00:00", state=State.FINISHED, ended="1970-01-01T00:00:00")

    assert ["c", "a", "b"] == [run.id for run in runs_in(tmp_path)]


def test_unreadable_run_is_reported_and_hides_no_other(tmp_path: Path) -> None:
    """One broken file must not hide the runs."""
    submitted(tmp_path / "good")
    submitted(tmp_path / "torn")
    (tmp_path / "torn/job.json").write_text("{", encoding="utf-8")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/trials.jsonl").write_bytes(b"\xff\n")

    found = {run.id: run for run in runs_in(tmp_path)}
    assert {"good", "torn", "odd"} == found.keys()
    assert "torn/job.json: not a job" in found["torn"].trouble
    assert "odd/trials.jsonl:1: not a line of a journal" in found["odd"].trouble
    assert "" == found["good"].trouble


@pytest.mark.parametrize("text", ["", "{", "[]", '{"run": {}}', "null"])
def test_journal_is_read_if_the_report_is_invalid(tmp_path: Path, text: str) -> None:
    journalled(tmp_path / "mine")
    (tmp_path / "mine.json").write_text(text, encoding="utf-8")

    assert COUNTED == counts(run_of(tmp_path / "mine").tasks)


def test_other_folders_are_not_runs(tmp_path: Path) -> None:
    """For example the folder of a judge's opinions."""
    (tmp_path / "judgements").mkdir()
    submitted(tmp_path / "mine")
    point(tmp_path / "latest", "mine")

    assert ["mine"] == [run.id for run in runs_in(tmp_path)]
    assert [] == runs_in(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"run": {}}', "null", '{"run": 1, "results": []}'])
def test_file_that_is_not_a_report_is_not_a_run(tmp_path: Path, text: str) -> None:
    """Users may keep other files there."""
    (tmp_path / "durations.json").write_text(text, encoding="utf-8")

    assert [] == runs_in(tmp_path)
    with pytest.raises(NoSuchRunError):
        folder_of(tmp_path, "durations")


def test_every_listed_run_is_found(tmp_path: Path) -> None:
    """Jobs, journals, and reports without a journal."""
    submitted(tmp_path / "job")
    journalled(tmp_path / "journal")
    reported(tmp_path / "report")

    listed = {run.id: folder_of(tmp_path, run.id) for run in runs_in(tmp_path)}

    assert {name: tmp_path / name for name in ("job", "journal", "report")} == listed
    assert ["report"] == [name for name, folder in listed.items() if is_only_report(folder)]


def test_run_without_any_files_yet_is_found(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    lock = FolderLock.take(tmp_path / "mine")

    assert tmp_path / "mine" == folder_of(tmp_path, "mine")
    lock.close()


@pytest.mark.parametrize("run", ["", "..", "mine/../mine", "."])
def test_path_is_not_a_run_id(tmp_path: Path, run: str) -> None:
    submitted(tmp_path / "mine")

    with pytest.raises(NoSuchRunError, match="there is no run"):
        folder_of(tmp_path, run)


def test_report_is_read_only_up_to_its_trials(tmp_path: Path) -> None:
    """Otherwise a list of many runs would take long."""
    reported(tmp_path / "mine")
    path = tmp_path / "mine.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index(' "trials": [') + 20] + "no JSON any more", encoding="utf-8")

    assert COUNTED == counts(run_of(tmp_path / "mine").tasks)
    with pytest.raises(json.JSONDecodeError):
        json.loads(path.read_text(encoding="utf-8"))


def begun(reports: Path, run: str, file: str, at: float) -> None:
    """Create a run that was started at the given time."""
    folder = reports / run
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trials.jsonl").touch()
    (folder / file).touch()
    os.utime(folder / file, (at, at))


def test_latest_run_is_the_one_that_was_started_last(tmp_path: Path) -> None:
    """Not the one that wrote last: an older one may still be running."""
    begun(tmp_path, "old", "lock", 100.0)
    begun(tmp_path, "new", "lock", 200.0)
    (tmp_path / "latest").symlink_to("old")
    begun(tmp_path, "old", "trials.jsonl", 300.0)

    assert tmp_path / "new" == folder_of(tmp_path, None)
    assert tmp_path / "new" == folder_of(tmp_path, "latest")


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("nihgtly", "there is no run 'nihgtly' in {}; did you mean nightly?"),
        ("xyz", "there is no run 'xyz' in {}; latest runs: smoke, nightly"),
    ],
)
def test_missing_run_names_similar_or_recent_ones(tmp_path: Path, asked: str, shown: str) -> None:
    begun(tmp_path, "nightly", "lock", 100.0)
    begun(tmp_path, "smoke", "lock", 200.0)

    with pytest.raises(NoSuchRunError) as refused:
        folder_of(tmp_path, asked)

    assert shown.format(tmp_path) == str(refused.value)


def test_empty_folder_says_how_to_start_a_run(tmp_path: Path) -> None:
    with pytest.raises(NoSuchRunError, match=r"there is no run in .*; start one: crmeval submit"):
        folder_of(tmp_path / "reports", None)


def test_run_that_was_resumed_and_killed_is_not_described_by_its_old_report(tmp_path: Path) -> None:
    """The report is that of the part before; a process that only tried to take the lock has started nothing."""
    folder = tmp_path / "plain"
    journalled(folder, [*TRIALS, trial("three")])
    reported(folder, [*TRIALS, trial("three")])
    FolderLock.take(folder).close()
    os.utime(tmp_path / "plain.json", (1.9e9, 1.9e9))
    before = run_of(folder)
    journal = JournalWriter.open(folder / "trials.jsonl")
    journal.part({"started": "2031-01-01T00:00:00+00:00"}, [*CASES, planned("four")])
    journal.close()
    os.utime(folder / "lock", (2e9, 2e9))
    after = run_of(folder)

    assert (State.FINISHED, 3) == (before.state, before.tasks[0].total)
    assert (State.LOST, 4) == (after.state, after.tasks[0].total)


@pytest.mark.parametrize(
    "document",
    [
        {"schema": "crmeval.report/1", "run": {}, "results": [{"suite": "a"}]},
        {"schema": "crmeval.report/1", "run": 3, "results": []},
        {"schema": "crmeval.report/1", "run": {}, "results": [1]},
        {"run": {}, "results": []},
        [],
    ],
)
def test_unusual_file_hides_no_run(tmp_path: Path, document: object) -> None:
    """It is not a run, and causes no traceback."""
    reported(tmp_path / "good")
    (tmp_path / "odd.json").write_text(json.dumps(document))

    assert ["good"] == [run.id for run in runs_in(tmp_path)]
