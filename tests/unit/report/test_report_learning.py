"""The playbooks of a run, and those that another run may start with."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.controller.playbooks import RunPlaybooks
from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.journal.writer import JournalWriter
from pytest_crmeval.options.values import Options
from pytest_crmeval.render import learning as curves
from pytest_crmeval.report.learning import inherited_in, inherited_playbook, playbooks_of
from pytest_crmeval.report.learning_curve import learning_of
from tests.fakes import planned, trial
from tests.unit.agents.atlas.roles import entry, playbook

KEY = "crm/atlas"
BOOK = playbook(entry(), played=7)


def taught(position: int = 1, **changes: Any) -> Trial:  # noqa: ANN401 (of a lesson)
    """Return the trial of a learner."""
    lesson = Lesson(**{"key": KEY, "position": position, **changes})
    return replace(trial(atlas(f"c{position}")), learning=lesson)


def atlas(case: str = "c1", spec: str = "atlas") -> PlannedCase:
    """Return a case for atlas."""
    return replace(planned(case, subject=spec), spec=spec)


def books(reports: Path, learning_from: str = "") -> RunPlaybooks:
    """Return the playbooks of a run."""
    return RunPlaybooks(cast("Options", SimpleNamespace(learning_from=learning_from, reports=reports)))


def keep(reports: Path, *trials: Trial) -> None:
    """Write the journal of an earlier run."""
    journal = JournalWriter.open(reports / "earlier" / "trials.jsonl")
    journal.part({"started": "2026-01-01"}, [each.planned for each in trials])
    for each in trials:
        journal.trial(each)
    journal.close()


def test_errored_conversation_is_not_learned_from(tmp_path: Path) -> None:
    """It is played again when the run is resumed, and must not be known by then."""
    lost = replace(taught(2, added=(entry(),)), verdict=Verdict.ERRORED)
    found = books(tmp_path)
    found.begin([], [taught(1), lost], [atlas()])
    before = found.find(KEY)
    found.take(lost)

    assert (1, 0) == (before.played, len(before.practices))
    assert before == found.find(KEY)


def test_run_starts_with_an_empty_playbook(tmp_path: Path) -> None:
    keep(tmp_path, taught(added=(entry(),)))
    found = books(tmp_path)
    found.begin([], [], [atlas()])

    assert (Playbook(), {}) == (found.find(KEY), found.part)


def test_recorded_conversations_are_known(tmp_path: Path) -> None:
    """From earlier parts and from this one; held-out cases change nothing."""
    found = books(tmp_path)
    found.begin([{"started": "x"}], [taught(added=(entry(),))], [atlas()])
    found.take(taught(2, added=(entry("p2.1"),)))
    found.take(taught(3, held_out=True, added=(entry("p3.1"),)))

    assert (2, ["p1.1", "p2.1"]) == (found.find(KEY).played, [each.id for each in found.find(KEY).entries])


def test_lesson_from_changed_content_is_forgotten(tmp_path: Path) -> None:
    """As in the next resumed run, where the trial no longer counts."""
    changed = replace(atlas("c2"), fingerprint="new")
    found = books(tmp_path)
    found.begin([{}], [taught(1, added=(entry(),)), taught(2, added=(entry("p2.1"),))], [changed, atlas("c3")])

    assert ["p1.1"] == [each.id for each in found.find(KEY).entries]


def test_playbook_of_another_run_can_be_continued(tmp_path: Path) -> None:
    """Its conversations don't count; the playbook is stored, so the other run can be deleted."""
    keep(tmp_path, taught(added=(entry(),)))
    found = books(tmp_path, "earlier")
    found.begin([], [], [atlas()])
    again = books(tmp_path / "elsewhere", "earlier")
    again.begin([found.part], [taught(added=(entry("p1.2"),))], [atlas()])

    assert (0, 1) == (found.find(KEY).played, len(found.find(KEY).entries))
    assert [atlas().fingerprint] == found.part["met"] == again.part["met"]
    assert ["p1.1", "p1.2"] == [each.id for each in again.find(KEY).entries]


@pytest.mark.parametrize(
    ("learning_from", "spec", "shown"),
    [
        ("nowhere", "atlas", "has this id"),
        ("earlier", "atlas", "no agent learned in this run"),
        ("", "atlas?learning=frozen", "no playbook to freeze"),
    ],
)
def test_run_without_learning_has_no_playbook_to_start_with(
    tmp_path: Path, learning_from: str, spec: str, shown: str
) -> None:
    keep(tmp_path, trial(atlas()))

    with pytest.raises(pytest.UsageError, match=shown):
        books(tmp_path, learning_from).begin([], [], [atlas(spec=spec)])


def test_playbook_is_found_by_its_key_or_by_its_suite() -> None:
    other = playbook(played=3)

    assert replace(BOOK, played=0) == inherited_playbook({KEY: BOOK, "crm/other": other}, KEY)
    assert replace(BOOK, played=0) == inherited_playbook({KEY: BOOK, "sales/x": other}, "crm/atlas?learning=frozen")
    assert None is inherited_playbook({KEY: BOOK, "crm/other": other}, "crm/third")
    two = {"crm/atlas?teacher=a&mode=coach": BOOK, "crm/atlas?teacher=b&mode=coach": other}
    assert replace(BOOK, played=0) == inherited_playbook(two, "crm/atlas?mode=solo&teacher=a&learning=frozen")
    assert None is inherited_playbook(two, "crm/atlas?learning=frozen")
    assert None is inherited_playbook({KEY: BOOK}, "sales/atlas")


def test_resumed_run_continues_with_its_first_playbook() -> None:
    """It is recorded in the parts."""
    assert {KEY: BOOK} == inherited_in([{}, {"inherited": {KEY: BOOK.to_dict()}}])
    assert ["p1.1", "p1.9"] == [
        each.id for each in playbooks_of([taught(added=(entry("p1.9"),))], {KEY: BOOK})[KEY].entries
    ]


def test_time_for_learning_is_shown_if_it_is_known() -> None:
    """Older trials include it in their duration; without learning it is zero."""
    found = [
        learning_of([replace(taught(learning=learning), seconds=3.0, learning_seconds=seconds)], {})
        for learning, seconds in (("on", 0.0), ("on", 2.0), ("frozen", 0.0))
    ]

    assert ["time: 3.0 s playing, 2.0 s learning", "time: 3.0 s playing, 0.0 s learning"] == [
        line for each in found if each for line in curves.curve(each) if line.startswith("time: ")
    ]


def test_playbook_is_shown() -> None:
    """Each entry with its record, and the notes."""
    book = replace(BOOK, teacher_notes="Look\nhere.")

    assert [
        "1 entries after 7 conversations",
        "p1.1  on 'add': Give create_client the status that the user names.",
        "    matched in 0 of 0 conversations, adopted 0, failed 0; for new clients: no status is forgotten",
        "teacher notes: Look here.",
    ] == list(curves.playbook_lines(book))
