"""A trial as the page shows it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.domain.answers import AnswerOutcome, Attempt
from pytest_crmeval.domain.judgement import Grade, JudgeAnswer, Judgement, Statement, StatementAnswer
from pytest_crmeval.domain.paths import own_name
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.wire import encoded_quickly
from pytest_crmeval.journal import transcripts
from pytest_crmeval.render.page.dialogues import LONGEST, MOST, Kept, dialogue, kept
from tests.fakes import trial
from tests.pages import dialogue_of, failed_scores

SECRET = "zebrafinch"  # noqa: S105 (to be looked for)


def played(*said: str) -> Trial:
    """Return a failed trial in which something was said."""
    lines = ("turn 2: it said nothing", "turn 9: never came", "contacts Ada: title expected 'CTO', actual 'CFO'")
    return replace(
        trial("one", Verdict.FAILED), scores=failed_scores(*lines, "x missing: y"), transcript=dialogue_of(*said)
    )


def output(found: Trial, run: Path, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 (of a transcript)
    """Write the transcript of a trial, and return what the page shows of it."""
    transcripts.write(run / "transcripts", found, **changes)
    return dict(json.loads(encoded_quickly(dialogue(found, kept(run, found)))))


def test_messages_are_copied_also_beside_text_that_only_the_slow_encoder_writes(tmp_path: Path) -> None:
    """Half a surrogate pair in the reason of a trial."""
    found = output(replace(played("Acme"), reason="cut in half: \ud83d"), tmp_path)

    assert {"speaker": "user", "text": "Who is Acme?"} == found["turns"][0]["said"][0]


def test_each_fault_stands_beside_its_turn(tmp_path: Path) -> None:
    found = output(played("Acme", "Terrazza"), tmp_path)
    beside = [[fault["text"] for fault in turn.get("faults", ())] for turn in found["turns"]]

    assert [["not made: client_search(name='Acme')"], ["it said nothing"]] == beside
    assert [
        {"score": "state", "turn": 9, "text": "never came"},
        {"score": "state", "text": "x missing: y", "lack": True},
    ] == found["faults"]
    assert [{"score": "state", "title": "contact Ada", "cells": [["title", "CTO", "CFO"]]}] == found["rows"]


def test_dialogue_is_shown_message_by_message(tmp_path: Path) -> None:
    found = output(played("Acme"), tmp_path)
    user, asks, answered, says = found["turns"][0]["said"]

    assert {"speaker": "user", "text": "Who is Acme?"} == user
    assert ["client_search", "erase"] == [call["tool"] for call in asks["calls"]]
    assert "not for Acme" == answered["results"][1]["error"]["message"]
    assert "It is Acme." == says["text"]
    assert "transcripts/crm/oracle/one.json" == found["where"]


def test_a_confidential_trial_stays_closed(tmp_path: Path) -> None:
    """Nothing of what was said comes to the page, though the key to it is in the file."""
    found = output(played(SECRET), tmp_path, canary="crmeval f00d")

    assert found["closed"]
    assert "turns" not in found
    assert SECRET not in json.dumps(found)


def test_case_that_two_tests_play_has_two_dialogues(tmp_path: Path) -> None:
    first = played("first")
    other = replace(first, planned=replace(first.planned, key="other::test"), transcript=dialogue_of("other"))
    transcripts.write(tmp_path / "transcripts", first)
    found = output(other, tmp_path, name=own_name("one", "other::test"))

    assert "Who is other?" == found["turns"][0]["said"][0]["text"]
    assert "Who is first?" == output(first, tmp_path)["turns"][0]["said"][0]["text"]


def test_a_trial_without_a_transcript_has_its_scores(tmp_path: Path) -> None:
    """An invalid case was never played; of a run that was moved only the report may be left."""
    found = dialogue(played("Acme"), kept(tmp_path, played("Acme")))

    assert [["state", 0.0, 1.0], ["calls", 0.5, 1.0], ["reply", 1.0, 1.0]] == found["scores"]
    assert not {"turns", "where", "closed", "trouble"} & found.keys()


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"turns": 7}', b'{"turns": []}', b"\xff"])
def test_invalid_transcript_is_reported(tmp_path: Path, content: bytes) -> None:
    """It spoils the dialogue of one trial, and nothing else."""
    path = transcripts.path_of(tmp_path / "transcripts", played())
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    assert kept(tmp_path, played()).trouble.startswith("is not a transcript: ")


def test_very_long_dialogues_are_cut(tmp_path: Path) -> None:
    endless = replace(played(), transcript=dialogue_of("x" * 2 * LONGEST, value=[{"n": n} for n in range(3 * MOST)]))
    user, _, answered, _ = output(endless, tmp_path)["turns"][0]["said"]
    rows = answered["results"][0]["value"]

    assert user["text"].endswith(f"… ({LONGEST + 8:,} more characters)")
    assert (MOST + 1, f"… {2 * MOST:,} more") == (len(rows), rows[-1])


def test_judge_answer_and_notes_are_shown() -> None:
    """Each opinion with its reason; a judge in trouble with that."""
    judged = Judgement(grades=(Grade(attempt=Attempt.CORRECT, reason="well done"),))
    troubled = Judgement(trouble="no answer")
    found = replace(
        trial("one"), judgement=judged, answer=AnswerOutcome(attempt=Attempt.CORRECT), notes=("temperature left out",)
    )
    shown: dict[str, Any] = dict(dialogue(found, Kept()))

    assert [{"attempt": "correct", "reason": "well done"}] == shown["judge"]["grades"]
    assert {"attempt": "correct"} == shown["answer"]
    assert ["temperature left out"] == shown["notes"]
    in_trouble: dict[str, Any] = dict(dialogue(replace(found, judgement=troubled), Kept()))
    assert "no answer" == in_trouble["judge"]["trouble"]


def test_statements_are_shown_with_what_the_judge_finds_false() -> None:
    answers = tuple(StatementAnswer(answer=JudgeAnswer(each), reason="no such row") for each in ("false", "true"))
    statements = tuple(Statement(turn=turn, quote=f"statement {turn}") for turn in (1, 2))
    judged = Judgement(grades=(Grade(answers=answers),), statements=statements)
    shown: Any = dict(dialogue(replace(trial("one"), judgement=judged), Kept()))["judge"]

    assert [
        {"turn": 1, "quote": "statement 1", "reason": "no such row"},
        {"turn": 2, "quote": "statement 2"},
    ] == shown["statements"]
    assert "its agreement with the labelled statements has not been measured" == shown["restriction"]


def test_partial_score_that_passes_is_not_a_fault() -> None:
    found = replace(trial("one"), scores=(Score(name="f1", value=0.81236, threshold=0.8),), transcript=Transcript())

    assert [["f1", 0.8124, 0.8]] == dialogue(found, Kept())["scores"]
    assert "faults" not in dialogue(found, Kept())
