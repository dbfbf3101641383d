"""How far a judge agrees with the labelled statements, and where these come from."""

import msgspec
import pytest

from pytest_crmeval.conversations.calibration.labelled_replies import SEALED, committed_sets
from pytest_crmeval.conversations.judge.agreement import (
    copy_opinions,
    known_agreement,
    labelled_trials,
    unmeasured,
)
from pytest_crmeval.conversations.judge.request import MOST
from pytest_crmeval.conversations.scorers.number_words import in_digits
from pytest_crmeval.models.judge import JudgementCache, parse_judge
from pytest_crmeval.models.specs import ModelSpec
from tests.judges import measured

JUDGE = "openai:judge?samples=1"
IDENTITY = ModelSpec.parse(parse_judge(JUDGE)[0]).identity


@pytest.fixture
def cache(tmp_path) -> JudgementCache:  # type: ignore[no-untyped-def] # noqa: ANN001 (a Path)
    """Return the cache of a reports folder."""
    return JudgementCache(tmp_path / "judgements")


def test_half_of_the_labelled_statements_are_false() -> None:
    """So that a judge that always says the same has a kappa of 0."""
    labels = [label for trial in labelled_trials() for label in trial.labels]

    assert (76, 76) == (labels.count(True), labels.count(False))
    assert all(0 < len(trial.statements) == len(trial.labels) <= MOST for trial in labelled_trials())


def test_each_labelled_statement_is_in_a_reply_with_the_same_label() -> None:
    """Of an open set: the sealed ones stay unread. What a true reply of the same turn says is not labelled false."""
    replies: dict[tuple[str, str, bool], str] = {}
    for path in committed_sets():
        for line in path.read_bytes().splitlines() if not path.name.startswith(SEALED) else ():
            play = msgspec.json.decode(line)
            for turn in play["turns"]:
                for label in (True, False):
                    key = (play["conversation"]["conversation_id"], turn["user"], label)
                    texts = [f"{text}\n{in_digits(text)}" for text in turn["true" if label else "false"]]
                    replies[key] = replies.get(key, "") + "\n".join(texts)
    for trial in labelled_trials():
        for statement, label in zip(trial.statements, trial.labels, strict=True):
            words = plain(statement.quote)
            assert words in plain(replies[trial.case, statement.user, label]), statement.quote
            if not label:
                assert words not in plain(replies[trial.case, statement.user, True]), statement.quote


def plain(text: str) -> str:
    """Return a text without Markdown and cells of tables."""
    return "".join(letter for letter in text if letter.isalnum())


@pytest.mark.parametrize(("wrong", "kappa"), [(0, 1.0), (7, 0.907895), (16, 0.789474), (152, -1.0)])
def test_agreement_is_found_in_the_cache(cache: JudgementCache, wrong: int, kappa: float) -> None:
    """Without a call."""
    measured(cache.folder.parent, JUDGE, wrong=wrong)
    found = known_agreement(IDENTITY, 1, cache)

    assert found is not None
    assert (152, kappa) == (found.statements, found.kappa)
    assert [] == unmeasured(IDENTITY, 1, cache)


def test_incomplete_or_different_measurement_is_not_used(cache: JudgementCache) -> None:
    """Nor is that of another number of opinions, or of another judge."""
    measured(cache.folder.parent, JUDGE)
    other = ModelSpec.parse("openai:another").identity
    assert known_agreement(IDENTITY, 3, cache) is None
    assert known_agreement(other, 1, cache) is None

    next(cache.folder.rglob("*.json")).write_text("{")

    assert known_agreement(IDENTITY, 1, cache) is None
    assert 1 == len(unmeasured(IDENTITY, 1, cache))


def test_measurement_can_be_copied_to_a_recording(cache: JudgementCache) -> None:
    """So that a replay has the same agreement."""
    target = JudgementCache(cache.folder / "copy")
    measured(cache.folder.parent, JUDGE, wrong=7)
    copy_opinions(IDENTITY, 1, cache, target)

    assert known_agreement(IDENTITY, 1, cache) == known_agreement(IDENTITY, 1, target)
