"""Lessons, and the playbook that they add up to."""

from dataclasses import replace
from typing import Any

import pytest

from pytest_crmeval.agents.playbook import Playbook, Rewards, learnt
from pytest_crmeval.domain.learning import EntryUse, Lesson, PlaybookEntry, Review, Reward, RewardOpinion
from tests.unit.agents.atlas.roles import entry, playbook


def reward(*scores: float) -> Reward:
    """Return the opinions of samples."""
    return Reward(samples=tuple(RewardOpinion(score=score, uncertainty=0.1, reason=f"{score}") for score in scores))


def lesson(position: int = 1, **changes: Any) -> Lesson:  # noqa: ANN401 (of a lesson)
    """Return the lesson of a conversation."""
    return Lesson(key="crm/atlas", position=position, **changes)


FULL = lesson(
    student="openai:m",
    uses={"p0.1": EntryUse(hits=2, adoptions=1)},
    reviews={Review.APPROVED: 1, Review.CORRECTED: 2},
    guidance=("Look.",),
    reward=Reward(samples=reward(0.2, 0.9).samples, arbiter=RewardOpinion(score=0.5, uncertainty=0.0, reason="half")),
    added=(entry(),),
    dropped={"p0.2": "of no use"},
    refused=("x: too long",),
    student_notes="",
    trouble=("odd",),
)


def test_lesson_is_read_as_written() -> None:
    """In primitive types that xdist can send: no enum."""
    record = FULL.to_dict()

    assert FULL == Lesson.from_dict(record)
    assert {str} == {type(name) for name in record["reviews"]}
    assert lesson() == Lesson.from_dict(lesson().to_dict())


def test_playbook_is_read_as_written() -> None:
    book = playbook(entry(), student_notes="Look.").after(lesson(uses={"p1.1": EntryUse(hits=1)}, reward=reward(0.5)))

    assert book == Playbook.from_dict(book.to_dict())


@pytest.mark.parametrize(
    ("utterance", "fires"),
    [("ADD it!", True), ("Please add-on", True), ("address", False), ("", False), ("set up a new one", True)],
)
def test_cue_matches_whole_words(utterance: str, *, fires: bool) -> None:
    assert fires is entry(cue=("add", "set-up a NEW")).fires(utterance)


def test_reward_is_the_mean_or_that_of_the_arbiter() -> None:
    """The reason is that of the arbiter, or of the nearest sample."""
    assert 0.5 == pytest.approx(reward(0.2, 0.4, 0.9).score)
    assert "0.4" == reward(0.2, 0.4, 0.9).reason
    assert FULL.reward
    assert (0.5, "half") == (FULL.reward.score, FULL.reward.reason)


def test_lessons_are_applied_in_order() -> None:
    """Whatever order they are read in; dropped entries are gone, and the latest notes count."""
    second: PlaybookEntry = entry("p2.1", action="Search before anything is created.")
    lessons = [
        lesson(3, dropped={"p1.1": "of no use"}),
        lesson(1, added=(entry(),), student_notes="First."),
        lesson(2, added=(second,), uses={"p1.1": EntryUse(hits=1, adoptions=1)}, reward=reward(0.8)),
    ]
    book = learnt(lessons)

    assert (3, (second,), "First.") == (book.played, book.entries, book.student_notes)
    assert (1, 1) == tuple(getattr(learnt(lessons[1:]).practices[0], name) for name in ("since", "adoptions"))


def test_gain_of_an_entry_compares_conversations_with_and_without_its_cue() -> None:
    """It is the difference of the rewards."""
    book = playbook(entry())
    for position, (hits, score) in enumerate([(1, 0.9), (0, 0.5), (1, 0.7)], start=1):
        book = book.after(lesson(position, uses={"p1.1": EntryUse(hits=hits)}, reward=reward(score)))
    (practice,) = book.practices

    assert (3, 2, Rewards(count=2, total=1.6)) == (practice.since, practice.fired, practice.heard)
    assert 0.3 == pytest.approx(practice.gain)
    assert None is playbook(entry()).practices[0].gain


@pytest.mark.parametrize("changes", [{"held_out": True}, {"learning": "frozen"}, {"learning": "off"}], ids=str)
def test_held_out_conversations_change_nothing(changes: dict[str, Any]) -> None:
    assert playbook(entry()) == playbook(entry()).after(replace(FULL, **changes))
