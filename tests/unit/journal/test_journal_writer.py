"""The append-only journal of a run."""

import io
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.trial import Labels, Trial, TurnOutcome
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.journal import reader as journal
from pytest_crmeval.journal.reader import JournalError, RunRecord
from pytest_crmeval.journal.writer import JournalWriter
from tests.fakes import planned, trial

PART = {"started": "2026-11-16T02:18:47+00:00", "command": "pytest evals/ -n 3"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a journal, in a folder that does not exist yet."""
    return tmp_path / "reports" / "mine" / "trials.jsonl"


@contextmanager
def opened(path: Path) -> Iterator[JournalWriter]:
    """Write a part of a run."""
    writing = JournalWriter.open(path)
    try:
        yield writing
    finally:
        writing.close()


def written(path: Path, *trials: Trial) -> bytes:
    """Write a complete part of a run, and return the file."""
    with opened(path) as writing:
        writing.part(PART, [each.planned for each in trials])
        for each in trials:
            writing.trial(each)
    return path.read_bytes()


def test_journal_reads_back_what_was_written(path: Path) -> None:
    """The part, and each trial by the key of its case."""
    one, two = trial("one"), trial("two", Verdict.FAILED)
    written(path, one, two)

    past = journal.read(path)
    assert [PART] == past.parts
    assert {one.planned.key: one, two.planned.key: two} == past.trials
    assert {one.planned.key: one.planned, two.planned.key: two.planned} == past.planned
    assert path.stat().st_size == past.size


def test_journal_without_labels_and_turns_can_be_read(path: Path) -> None:
    """Its trials have none; they count as before."""
    part, line = written(path, trial("one")).splitlines()
    record = json.loads(line)["trial"]
    del record["labels"], record["turns"]
    path.write_bytes(part + b"\n" + json.dumps({"trial": record}).encode() + b"\n")

    assert [trial("one")] == list(journal.read(path).trials.values())


def test_invalid_case_is_recorded_with_its_reason(path: Path) -> None:
    """A resumed run need not look at the case again."""
    broken = Trial.invalid(planned(), "cases.jsonl:1: one: turn 1: {stage}", Labels(tags=("dates",)))
    written(path, broken)

    assert [broken] == list(journal.read(path).trials.values())


def test_missing_journal_is_empty(path: Path) -> None:
    """The run is new."""
    assert RunRecord() == journal.read(path)
    assert not path.parent.exists()


def test_trial_is_on_disk_as_soon_as_it_is_written(path: Path) -> None:
    """Not only when the journal is closed: a crash would come before."""
    with opened(path) as writing:
        writing.trial(trial("one"))

        assert [trial("one")] == list(journal.read(path).trials.values())


def test_each_line_is_one_record(path: Path) -> None:
    """Line breaks in an error message are escaped."""
    content = written(path, Trial.errored(planned(), "OSError\nTraceback\r\n  …\u2028"))

    assert [["part", "planned"], ["trial", "at", "tick"]] == [list(json.loads(line)) for line in content.splitlines()]


def test_letters_are_written_unescaped(path: Path) -> None:
    """People search journals with grep."""
    assert "größe".encode() in written(path, trial("größe"))


def test_lone_surrogate_is_recorded(path: Path) -> None:
    """A model may send half a surrogate pair."""
    written(path, Trial.errored(planned(), "ValueError: \ud83d"))

    (shown,) = journal.read(path).trials.values()

    assert r"ValueError: \ud83d" == shown.reason


def test_last_trial_of_a_case_counts(path: Path) -> None:
    """An errored trial was repeated in a later part."""
    written(path, trial("one", Verdict.ERRORED), trial("two"))
    written(path, trial("one", Verdict.PASSED))

    past = journal.read(path)

    assert 2 == len(past.parts) == len(past.trials)
    assert Verdict.PASSED is past.trials[planned("one").key].verdict


def paid(case: str, cost: float | None, judge: float | None = None, verdict: Verdict = Verdict.PASSED) -> Trial:
    """Return a trial with a cost."""
    bill = None if judge is None else Bill(usage=Usage(input=7, calls=3), cost=judge)
    judgement = Judgement(grades=(Grade(reason="fine"),), bill=bill)
    return replace(trial(case, verdict), bill=Bill(usage=Usage(input=7, calls=1), cost=cost), judgement=judgement)


def test_bills_are_read_back(path: Path) -> None:
    written(path, paid("one", 0.25, 0.5), paid("two", None))

    assert [0.25, None] == [each.bill and each.bill.cost for each in journal.read(path).trials.values()]


def test_cost_of_earlier_parts_counts_for_the_budget(path: Path) -> None:
    """Including repeated trials and their judge: a resumed run has no new budget."""
    written(path, paid("one", 0.25, 0.5, Verdict.ERRORED), paid("two", 2.0), trial("three"))
    written(path, paid("one", 0.125))

    past = journal.read(path)

    assert 2.875 == past.spent
    past.begin(PART, [replace(planned("two"), fingerprint="new")])
    assert 2.875 == past.spent


def test_replayed_or_unpriced_trials_were_not_spent(path: Path) -> None:
    replayed = replace(paid("one", 0.25), bill=Bill(cost=0.25, replayed=True))
    written(path, replayed, paid("two", None))

    assert 0.0 == journal.read(path).spent


def test_second_part_keeps_the_first(path: Path) -> None:
    """A journal is only appended to."""
    first = written(path, trial("one"))

    assert written(path, trial("two")).startswith(first)


@pytest.mark.parametrize("torn", [b'{"trial":{"key":"k', b"{", b'{"part":{}}', b"\xff\xfe", "{…".encode()[:-1]])
def test_torn_last_line_is_ignored(path: Path, torn: bytes) -> None:
    """A crash during a write loses that trial and nothing else."""
    path.parent.mkdir(parents=True)
    path.write_bytes(written(path, trial("one")) + torn)

    past = journal.read(path)
    assert [PART] == past.parts
    assert {planned("one").key: trial("one")} == past.trials


def test_torn_last_line_is_removed_before_more_is_written(path: Path) -> None:
    whole = written(path, trial("one"))
    path.write_bytes(whole + b'{"trial":{"key":"k')

    with opened(path) as writing:
        writing.trial(trial("two"))

    assert whole == path.read_bytes()[: len(whole)]
    assert ["one", "two"] == [shown.planned.case for shown in journal.read(path).trials.values()]


def test_journal_of_one_torn_line_starts_again(path: Path) -> None:
    """The crash came during the very first line."""
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"part":{"star')

    content = written(path, trial("one"))

    assert content.startswith(b'{"part":')
    assert [PART] == journal.read(path).parts


@pytest.mark.parametrize(
    "junk",
    [
        b"not json",
        b"{",
        b"",
        b"[]",
        b"7",
        b'"a trial"',
        b"{}",
        b"\xff\xfe",
        b'{"trial": null}',
        b'{"trial": {"key": "k"}}',
        json.dumps({"trial": {**trial("one").to_dict(), "key": []}}).encode(),
        b'{"part": 7}',
    ],
)
def test_corrupt_line_in_the_middle_is_reported(path: Path, junk: bytes) -> None:
    """A crash does not cause this, so it is an error instead of a loss of trials."""
    part, *trials = written(path, trial("one"), trial("two")).splitlines()
    path.write_bytes(b"\n".join([part, junk, *trials, b""]))

    with pytest.raises(JournalError) as caught:
        journal.read(path)

    assert str(caught.value).startswith(f"{path}:2: not a line of a journal")
    assert str(caught.value).endswith("move it away")


def test_special_file_is_not_a_journal(path: Path) -> None:
    path.mkdir(parents=True)

    with pytest.raises(JournalError, match="Is a directory"):
        JournalWriter.open(path)
    with pytest.raises(JournalError, match="Is a directory"):
        journal.read(path)


def test_folder_that_can_not_be_created_is_reported_with_what_to_do(tmp_path: Path) -> None:
    """A file is in the place of the folder."""
    (tmp_path / "reports").write_text("a file", encoding="utf-8")

    with pytest.raises(JournalError, match="choose a writable folder with crmeval_reports"):
        JournalWriter.open(tmp_path / "reports" / "mine" / "trials.jsonl")


WRITER = """
import sys
from pathlib import Path
from pytest_crmeval.journal.writer import JournalWriter

held = JournalWriter.open(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Let another process write the journal."""
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "open\n" == process.stdout.readline()
        yield process
        process.kill()


def test_two_processes_cannot_write_one_journal(path: Path) -> None:
    written(path, trial("one"))

    with another_process(path), pytest.raises(JournalError) as caught:
        JournalWriter.open(path)

    assert f"{path}: another process is writing this run; wait for it, or stop it" == str(caught.value)
    assert [trial("one")] == list(journal.read(path).trials.values())


def test_lines_of_another_process_in_the_meantime_are_noticed(path: Path) -> None:
    """Between reading and writing; the report would not contain them."""
    written(path, trial("one"))
    read = journal.read(path)
    written(path, trial("two"))

    with pytest.raises(JournalError, match="another process has written to this run in the meantime; start again"):
        JournalWriter.open(path, after=read.size)
    JournalWriter.open(path, after=journal.read(path).size).close()


@pytest.mark.parametrize("changed", ["fingerprint", "spec"])
def test_trial_of_a_changed_case_is_forgotten(path: Path, changed: str) -> None:
    """Its content, or the agent behind its name, has changed."""
    written(path, trial("one"), trial("two"))
    past = journal.read(path)

    other: dict[str, Any] = {changed: "new"}
    past.begin(PART, [replace(planned("one"), **other)])

    assert [planned("two").key] == list(past.trials)
    assert 2 == len(past.planned)


def test_journal_of_a_killed_writer_can_be_written(path: Path) -> None:
    with another_process(path):
        pass

    assert written(path, trial("one"))


def test_one_process_cannot_write_a_journal_twice(path: Path) -> None:
    with opened(path), pytest.raises(JournalError, match="another process is writing this run"):
        JournalWriter.open(path)

    with opened(path) as again:
        again.trial(trial("one"))


def test_line_is_completed_if_the_disk_takes_only_a_part(path: Path) -> None:
    """``write`` of a file may write less than it is given."""

    class Sluggish(io.FileIO):
        def write(self, data: Any) -> int:  # noqa: ANN401 (any buffer)
            return super().write(bytes(data)[:100])

    path.parent.mkdir(parents=True)
    writing = JournalWriter(Sluggish(path, "ab+"))

    writing.trial(trial("one"))
    writing.trial(trial("two"))
    writing.close()

    assert [trial("one"), trial("two")] == list(journal.read(path).trials.values())


def test_trials_of_a_large_run_take_little_memory(path: Path) -> None:
    """A resumed run reads all its trials, for example 50,000: equal values share one object."""
    turns = (TurnOutcome(tool="client_search", called=True, replied=True, steps=2, errors=0),) * 5
    scores = tuple(Score(name=name, value=1.0) for name in ("state", "calls", "reply"))
    labels = Labels(complexity="medium", category="Client Management", tags=("quotes", "chain", "dates"), split="test")
    trials = [replace(trial(f"case-{number}"), turns=turns, scores=scores, labels=labels) for number in range(2000)]
    written(path, *trials)
    journal.read(path)  # what is imported and cached once is not counted

    tracemalloc.start()
    past = journal.read(path)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert past.trials == {each.planned.key: each for each in trials}
    assert size / len(trials) < 1600


def test_opening_a_journal_reads_only_its_end(path: Path) -> None:
    """It only looks for an incomplete last line."""
    whole = written(path, *(trial(f"case-{number}") for number in range(1000)))
    path.write_bytes(whole + b'{"trial": ' + b"x" * 100_000)

    tracemalloc.start()
    JournalWriter.open(path, after=len(whole)).close()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert whole == path.read_bytes()
    assert peak < len(whole)
