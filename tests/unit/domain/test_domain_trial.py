"""One attempt at one case."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.messages import Reply, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.domain.trial import Labels, Trial, TurnOutcome
from tests.fakes import call, planned, trial

WRONG = Trial(
    planned=planned(),
    verdict=Verdict.FAILED,
    scores=(
        Score(name="calls", value=1.0),
        Score(name="state", value=0.0, reason="clients: missing: name='Ada Ltd'"),
        Score(name="reply", value=0.5, reason="turn 1: the reply says that it was not done"),
    ),
    seconds=1.2345678,
    labels=Labels(complexity="simple", category="Client Management", tags=("create", "de")),
    turns=(TurnOutcome(tool="create_new_client", called=False, replied=True, steps=2, errors=1),),
    transcript=Transcript(
        exchanges=[
            Exchange(
                messages=[
                    user_says("Add Ada Ltd."),
                    agent_says(Reply(calls=[call("client_search", name="Ada")])),
                    crm_says([ToolResult(value=[])]),
                    agent_says(Reply(text="She is not there.")),
                ]
            )
        ]
    ),
)


@pytest.mark.parametrize("verdict", Verdict)
def test_only_passed_is_passed(verdict: Verdict) -> None:
    """Errored is not passed, and it is not failed, either."""
    assert (verdict is Verdict.PASSED) is trial(verdict=verdict).passed


def test_an_errored_trial_has_a_reason_and_no_score() -> None:
    """The world broke: there is nothing to count."""
    errored = Trial.errored(planned(), "OSError: disk full", 0.25)

    assert (Verdict.ERRORED, "OSError: disk full", (), 0.25) == (
        errored.verdict,
        errored.reason,
        errored.scores,
        errored.seconds,
    )


def test_an_invalid_trial_has_a_reason_and_no_score() -> None:
    labels = Labels(tags=("create",))

    invalid = Trial.invalid(planned(), "turn 1: nobody tells the e-mail address", labels)

    assert (Verdict.INVALID, "turn 1: nobody tells the e-mail address", (), (), 0.0, labels) == (
        invalid.verdict,
        invalid.reason,
        invalid.scores,
        invalid.turns,
        invalid.seconds,
        invalid.labels,
    )


@pytest.mark.parametrize("verdict", Verdict)
def test_what_was_written_can_be_read(verdict: Verdict) -> None:
    """A resumed run knows its trials as they were."""
    written = trial(verdict=verdict, seconds=0.123456)

    assert written == Trial.from_dict(json.loads(json.dumps(written.to_dict())))


def test_labels_and_turns_can_be_read() -> None:
    """The report of a resumed run sums up those of all its parts."""
    read = Trial.from_dict(json.loads(json.dumps(WRONG.to_dict())))

    assert (WRONG.labels, WRONG.turns) == (read.labels, read.turns)


def test_a_record_of_the_time_before_there_were_labels_and_turns_can_be_read() -> None:
    """A journal outlives the version that wrote it."""
    old = {name: value for name, value in trial().to_dict().items() if name not in {"labels", "turns"}}

    assert trial() == Trial.from_dict(old)


@pytest.mark.parametrize("verdict", Verdict)
def test_a_record_holds_json_primitives_and_nothing_derived_from_them(verdict: Verdict) -> None:
    """Execnet refuses an enum even if it is a string."""
    found = {type(value) for value in _values(trial(verdict=verdict).to_dict())}

    assert found <= {str, int, float, bool, type(None), dict, list}


def test_the_transcript_stays_at_home() -> None:
    """Megabytes of dialogue are not sent from worker to controller."""
    assert "Ada" not in json.dumps({**WRONG.to_dict(), "scores": []})


def test_whether_there_are_colours_stays_at_home() -> None:
    assert WRONG == replace(WRONG, colored=True, transcript=Transcript())
    assert "colored" not in WRONG.to_dict()


@pytest.mark.parametrize(
    ("called", "replied", "errors", "passed", "recovered"),
    [
        (True, True, 0, True, 0),
        (True, True, 2, True, 2),
        (True, False, 2, False, 0),
        (False, True, 2, False, 0),
        (False, False, 0, False, 0),
    ],
)
def test_a_turn_passes_when_calls_and_reply_are_right(
    *, called: bool, replied: bool, errors: int, passed: bool, recovered: int
) -> None:
    """Refused calls are made up for, when it does."""
    turn = TurnOutcome(tool="client_search", called=called, replied=replied, steps=3, errors=errors)

    assert (passed, recovered) == (turn.passed, turn.recovered)


def test_seconds_are_rounded_to_what_can_be_measured() -> None:
    assert 1.234568 == WRONG.to_dict()["seconds"]


@pytest.mark.parametrize(
    "junk",
    [
        {},
        {"key": "k"},
        {**WRONG.to_dict(), "verdict": "great"},
        {**WRONG.to_dict(), "scores": [{"name": "state", "value": 7}]},
        {**WRONG.to_dict(), "scores": [{"name": "state", "value": "high"}]},
        {**WRONG.to_dict(), "scores": [3]},
        {**WRONG.to_dict(), "scores": None},
        {**WRONG.to_dict(), "labels": None},
        {**WRONG.to_dict(), "labels": {"tags": [7]}},
        {**WRONG.to_dict(), "labels": {"complexity": 7}},
        {**WRONG.to_dict(), "turns": [{}]},
        {**WRONG.to_dict(), "turns": 7},
    ],
)
def test_junk_is_not_a_trial(junk: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Trial.from_dict(junk)


def test_explanation_shows_each_fault_at_its_turn(snapshot: SnapshotAssertion) -> None:
    """Verdict and scores, then the dialogue with its faults, then those of the whole."""
    assert snapshot == WRONG.explain()


def test_a_folded_explanation_has_one_line_for_a_turn_that_passed() -> None:
    """Unless no turn is known to be wrong: then all are shown."""
    said = [Exchange(messages=[user_says(f"Do {n}."), agent_says(Reply(text="Done."))]) for n in (1, 2)]
    two = replace(WRONG, transcript=Transcript(exchanges=said))
    second, whole = (Score(name="calls", value=0.0, reason=reason) for reason in ("turn 2: not made", "not made"))

    lines = replace(two, scores=(second,)).explain(folded=True).splitlines()[1:]

    assert ["  turn 1: passed", "  turn 2", "    user   Do 2.", "    agent  Done.", "    ✗ calls: not made"] == lines
    assert "Do 1." in replace(two, scores=(whole,)).explain(folded=True)
    assert "Do 1." in replace(two, scores=(second,)).explain()


def test_an_errored_trial_explains_what_broke(snapshot: SnapshotAssertion) -> None:
    assert snapshot == trial(verdict=Verdict.ERRORED).explain()


def test_labels_survive_the_journey() -> None:
    """With the split, if there is one; journals of earlier runs don't know it."""
    held_out, plain = Labels(complexity="simple", tags=("create",), split="test"), Labels(complexity="simple")

    assert held_out == Labels.from_dict(json.loads(json.dumps(held_out.to_dict())))
    assert {"complexity": "simple", "category": "", "tags": []} == plain.to_dict()
    assert plain == Labels.from_dict(plain.to_dict())


def test_an_invalid_trial_explains_what_is_wrong_with_the_case() -> None:
    """There is nothing else to tell."""
    invalid = Trial.invalid(planned(), "cases.jsonl:7: one: turn 1: nobody tells the e-mail address", Labels())

    assert (
        "oracle invalid one (crm, 0.00 s)\ncases.jsonl:7: one: turn 1: nobody tells the e-mail address"
        == invalid.explain()
    )


def test_an_explanation_can_be_printed() -> None:
    """Half a surrogate pair, which an agent may say, does not break the terminal of who reads it."""
    odd = Transcript(exchanges=[Exchange(messages=[user_says("Hi."), agent_says(Reply(text="\ud83d"))])])

    assert "\\ud83d" in replace(WRONG, transcript=odd).explain().encode().decode()


def _values(value: object) -> Iterator[object]:
    yield value
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _values(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _values(item)
