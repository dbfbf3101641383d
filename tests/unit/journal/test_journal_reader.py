"""A growing journal: no line is read twice."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import Decoder

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.journal import reader
from pytest_crmeval.journal.reader import Follower, JournalError
from pytest_crmeval.journal.writer import JournalWriter
from tests.fakes import planned, trial

PART = {"started": "2026-11-16T02:18:47+00:00", "command": "pytest evals/"}
CASES = ("one", "two", "three")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a journal."""
    return tmp_path / "run" / "trials.jsonl"


@contextmanager
def journal(path: Path, *cases: str) -> Iterator[JournalWriter]:
    """Write a journal in which a part has begun."""
    opened = JournalWriter.open(path)
    opened.part(PART, [planned(case) for case in cases or CASES])
    yield opened
    opened.close()


def done(follower: Follower) -> tuple[int, int]:
    """Return the numbers of finished and of all cases."""
    whole = follower.read().tally.whole(0.0)
    return whole.done, whole.total


def test_journal_is_followed_while_it_is_written(path: Path) -> None:
    follower = Follower(path)
    with journal(path) as writing:
        found = [done(follower)]
        for case in CASES:
            writing.trial(trial(case))
            found.append(done(follower))

    assert [(0, 3), (1, 3), (2, 3), (3, 3)] == found


def test_journal_that_does_not_exist_yet_is_empty(path: Path) -> None:
    """Its run was submitted, and has not started."""
    follower = Follower(path)

    assert (0, 0) == done(follower)
    with journal(path):
        assert (0, 3) == done(follower)


def test_follower_reads_each_line_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    decode = reader.decoded_line

    def counting(line: bytes, decoder: Decoder[Any]) -> Any:  # noqa: ANN401 (a line)
        parsed.append(line)
        return decode(line, decoder)

    monkeypatch.setattr(reader, "decoded_line", counting)
    follower = Follower(path)
    with journal(path) as writing:
        for case in CASES:
            writing.trial(trial(case))
            follower.read()
            follower.read()

    assert 4 == len(parsed)


def test_torn_line_is_left_for_the_next_time(path: Path) -> None:
    with journal(path) as writing:
        writing.trial(trial("one"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    follower = Follower(path)

    assert (0, 3) == done(follower)
    path.write_bytes(whole)
    assert (1, 3) == done(follower)


def test_journal_that_shrank_is_read_again(path: Path) -> None:
    """The disk had no room for a line, which was removed."""
    with journal(path) as writing:
        writing.trial(trial("one"))
        before = path.stat().st_size
        writing.trial(trial("two"))
    follower = Follower(path)
    follower.read()

    path.write_bytes(path.read_bytes()[:before])

    assert (1, 3) == done(follower)


def test_journal_that_was_replaced_is_read_again(path: Path) -> None:
    with journal(path) as writing:
        writing.trial(trial("one", Verdict.FAILED))
    follower = Follower(path)
    follower.read()
    path.unlink()

    with journal(path, "one", "two", "three", "four", "five") as writing:
        writing.trial(trial("one"))
        writing.trial(trial("two"))

    assert (2, 5) == done(follower)
    assert 0 == follower.read().tally.whole(0.0).failed


def test_missing_journal_has_no_news(path: Path) -> None:
    with journal(path):
        follower = Follower(path)
        follower.read()

    path.unlink()

    assert (0, 0) == done(follower)


def test_resumed_run_has_parts(path: Path) -> None:
    """It started with the first, and is resumed by the command of the latest."""
    with journal(path):
        pass
    opened = JournalWriter.open(path)
    opened.part({**PART, "started": "2026-11-16T03:18:47+00:00", "command": "pytest -n 3"}, [planned("one")])
    opened.close()

    found = Follower(path).read()

    assert found.started is not None
    assert (2, found.started + 3600, "pytest -n 3") == (len(found.parts), found.resumed, found.command)


def test_cost_outside_trials_is_included(path: Path) -> None:
    """A test that failed for another reason does not count in the progress."""
    with journal(path) as writing:
        writing.spent(0.25)
        writing.red("test_crm.py::test_conversation[oracle-one]")

    assert 0.25 == Follower(path).read().tally.spent


def test_journal_without_times_can_be_read(path: Path) -> None:
    with journal(path):
        pass
    with path.open("a") as file:
        file.write(json.dumps({"trial": trial("one").to_dict()}) + "\n")

    found = Follower(path).read()

    assert (1, None, None) == (found.tally.whole(0.0).done, found.tally.whole(0.0).rate, found.latest)


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"trial": {}}', '{"part": {}}', '{"part": {"shard": {}}}', "7"])
def test_invalid_line_of_a_journal_is_reported_with_its_place(path: Path, line: str) -> None:
    with journal(path):
        pass
    with path.open("a") as file:
        file.write(f"{line}\n")

    with pytest.raises(JournalError, match=r"trials\.jsonl:2: not a line of a journal: .*; move it away"):
        Follower(path).read()


@pytest.mark.parametrize("at", ["Infinity", "-Infinity", "NaN"])
def test_trial_without_a_duration_is_not_a_line_of_a_journal(path: Path, at: str) -> None:
    with journal(path) as writing:
        writing.trial(trial("one"))
    path.write_text(re.sub(r'"at": ?[0-9.]+', f'"at": {at}', path.read_text()))

    with pytest.raises(JournalError, match=r"trials\.jsonl:2: not a line of a journal: .*invalid time"):
        Follower(path).read()


def test_unreadable_journal_is_reported(path: Path) -> None:
    path.mkdir(parents=True)

    with pytest.raises(JournalError, match="Is a directory"):
        Follower(path).read()
