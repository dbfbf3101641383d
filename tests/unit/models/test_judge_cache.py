"""Judgements of earlier runs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.domain.messages import Tool, user_says
from pytest_crmeval.models.judge import CorruptError, JudgementCache, ReplayedJudgements, key_of
from pytest_crmeval.ports.chat_model import ModelIdentity, Prompt

WISE = ModelIdentity(provider="fake", model="wise", settings={"temperature": 0.5})
GRADES = (Grade(attempt=Attempt.CORRECT, reason="fine, Zoë"), Grade(attempt=Attempt.INCORRECT, reason="\ud800"))
TOOL = Tool(name="grade", description="Grade it.", parameters={})
PROMPT = Prompt(system="Be fair.", messages=(user_says("{}"),), tools=(TOOL,))
KEY = key_of(WISE, 2, PROMPT)


@pytest.fixture
def cache(tmp_path: Path) -> JudgementCache:
    """Return a cache whose folder is not there yet."""
    return JudgementCache(tmp_path / "reports" / "judgements")


def files(cache: JudgementCache) -> list[Path]:
    """Return everything that is in a cache."""
    return [path for path in cache.folder.rglob("*") if path.is_file()]


def test_stored_judgement_is_found_and_marked_as_cached(cache: JudgementCache) -> None:
    """It is known to be from the cache, and has cost nothing."""
    cache.keep(KEY, WISE, GRADES[:1] * 2)

    assert Judgement(grades=GRADES[:1] * 2, cached=True, key=KEY) == cache.find(KEY, 2)


def test_missing_judgement_creates_no_folder(cache: JudgementCache) -> None:
    """And no folder is made for it."""
    assert cache.find(KEY, 2) is None
    assert not cache.folder.exists()


def test_a_reason_that_no_disk_can_hold_is_kept_readable(cache: JudgementCache) -> None:
    """A lone surrogate becomes letters."""
    cache.keep(KEY, WISE, GRADES)
    kept = cache.find(KEY, 2)

    assert kept is not None
    assert ["fine, Zoë", "\\ud800"] == [grade.reason for grade in kept.grades]


def test_each_judgement_is_one_small_file_and_nothing_else_is_left(cache: JudgementCache) -> None:
    """In one of 256 folders; a draft is gone."""
    cache.keep(KEY, WISE, GRADES)
    cache.keep(KEY, WISE, GRADES)

    assert [cache.folder / KEY[:2] / f"{KEY[2:]}.json"] == files(cache)


def test_a_judgement_that_can_not_be_written_leaves_nothing(cache: JudgementCache) -> None:
    """Where its file should be is a folder."""
    (cache.folder / KEY[:2] / f"{KEY[2:]}.json").mkdir(parents=True)

    with pytest.raises(OSError, match="directory"):
        cache.keep(KEY, WISE, GRADES)
    assert [] == files(cache)


def changed(**fields: Any) -> bytes:  # noqa: ANN401 (JSON)
    """Return the file of a judgement with other fields."""
    grades = [grade.to_dict() for grade in GRADES]
    record = {"schema": "crmeval.judgement/1", "key": KEY, "judge": "fake:wise", "grades": grades}
    return json.dumps({**record, **fields}).encode()


def test_the_files_of_the_next_test_are_whole_but_for_one_thing(cache: JudgementCache) -> None:
    """Otherwise it would prove nothing."""
    cache.keep(KEY, WISE, GRADES)
    files(cache)[0].write_bytes(changed())

    assert cache.find(KEY, 2) is not None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 100_000,
        changed()[:-10],
        changed(schema="crmeval.judgement/2"),
        changed(key="another"),
        changed(grades=[]),
        changed(grades=None),
        changed(grades=[GRADES[0].to_dict()]),
        changed(grades=[7] * 2),
        changed(grades=[{"attempt": "perhaps"}] * 2),
        changed(grades=[{"reason": 1}] * 2),
        changed(grades=[{"confidence": "1"}] * 2),
        changed(grades=[{"answers": [{"answer": True}]}] * 2),
        changed(grades=[{"answers": [{"answer": "perhaps"}]}] * 2),
    ],
)
def test_corrupt_file_is_not_a_judgement(cache: JudgementCache, content: bytes) -> None:
    """Whatever it is; the message says which file."""
    cache.keep(KEY, WISE, GRADES)
    files(cache)[0].write_bytes(content)

    with pytest.raises(CorruptError, match=KEY[2:]):
        cache.find(KEY, 2)


TOLD = Judgement(grades=GRADES[:1] * 2, cached=True, key=KEY)


def test_transcript_has_judgements_from_the_cache() -> None:
    """With the notes of that run left out, which are not of this one."""
    told = {**TOLD.to_dict(), "notes": ["slow"]}

    assert TOLD == ReplayedJudgements(lambda: told).find(KEY, 2)


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        replace(TOLD, key="another").to_dict(),
        replace(TOLD, key="").to_dict(),
        replace(TOLD, cached=False).to_dict(),
    ],
)
def test_transcript_does_not_answer_for_another_judgement(told: Mapping[str, Any] | None) -> None:
    """Nor of one that was asked for: its exchanges are there."""
    assert ReplayedJudgements(lambda: told).find(KEY, 2) is None


def test_transcript_with_invalid_grades_is_refused() -> None:
    """It was tampered with."""
    with pytest.raises(CorruptError, match="transcript"):
        ReplayedJudgements(lambda: {**TOLD.to_dict(), "grades": [{"attempt": 7}]}).find(KEY, 2)


def test_the_key_is_the_same_for_the_same() -> None:
    same = ModelIdentity(provider="fake", model="wise", settings=dict(WISE.settings))

    assert KEY == key_of(same, 2, replace(PROMPT))


@pytest.mark.parametrize(
    "other",
    [
        key_of(replace(WISE, provider="other"), 2, PROMPT),
        key_of(replace(WISE, model="wiser"), 2, PROMPT),
        key_of(replace(WISE, settings={"temperature": 0.6}), 2, PROMPT),
        key_of(WISE, 3, PROMPT),
        key_of(WISE, 2, replace(PROMPT, messages=(user_says('{"now": 1}'),))),
        key_of(WISE, 2, replace(PROMPT, system="Be kind.")),
        key_of(WISE, 2, replace(PROMPT, tools=[replace(PROMPT.tools[0], description="Be kind.")])),
    ],
)
def test_the_key_is_another_one_for_anything_else(other: str) -> None:
    """Another judge, other settings, another number of opinions, other evidence, another rubric, another tool."""
    assert KEY != other
