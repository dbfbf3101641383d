"""Tests share the results of the reference calls, which are made once, by the harness."""

import json
import re
from pathlib import Path

import pytest

from pytest_crmeval.conversations.dataset.files import index
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import play_reference
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.state import Row, State
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.ports.crm import Crm
from tests.fakes import PaperCrm
from tests.projects import case
from tests.reference_plays import BUNDLE, ReferencePlay, plays_of, shared_plays

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class ClosedCrm(PaperCrm):
    """Must not be called."""

    def call(self, call: ToolCall) -> ToolResult:
        """Fail."""
        raise AssertionError(call)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a file of two cases."""
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(case(name)) + "\n" for name in ("one", "two")), encoding="utf-8")
    return path


def numbered(transcript: Transcript) -> str:
    """Return a transcript with its ids numbered in order of appearance: new rows have other ids each time."""
    found: dict[str, str] = {}
    return ID.sub(lambda match: found.setdefault(match[0], f"id {len(found)}"), repr(transcript))


def in_order(state: State) -> dict[str, list[Row]]:
    """Return all rows, each table sorted: the CRM shows them in any order."""
    return {table: sorted(rows, key=repr) for table, rows in state.items()}


def test_bundled_plays_are_of_every_third_case_in_order(bundled_plays: list[ReferencePlay]) -> None:
    """Writing and reading the file changes nothing."""
    assert [ref.read() for ref in index([BUNDLE])[::3]] == [play.case for play in bundled_plays]


def test_shared_play_equals_a_fresh_play_of_the_harness(crm: Crm, bundled_plays: list[ReferencePlay]) -> None:
    for play in bundled_plays[::20]:
        again = play_reference(play.case, Oracle(play.case), crm)
        answers = [result for exchange in play.reference.transcript.exchanges for _, result in exchange.calls]

        assert in_order(again.before) == in_order(play.reference.before)
        assert numbered(again.transcript) == numbered(play.reference.transcript)
        assert answers == play.said
        assert len(answers) == len(play.worlds)
        assert not answers or in_order(play.reference.before) == in_order(play.worlds[0].state)


def test_second_process_reads_the_plays_of_the_first(small: Path, tmp_path: Path) -> None:
    """It plays nothing itself."""
    first = shared_plays(tmp_path / "kept", small, PaperCrm())
    second = shared_plays(tmp_path / "kept", small, ClosedCrm())

    assert ["one", "two"] == [play.case.id for play in first]
    assert first == second == plays_of(small, PaperCrm())
