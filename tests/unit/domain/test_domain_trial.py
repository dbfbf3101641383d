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
def test_only_passed_trials_have_passed(verdict: Verdict) -> None:
    """An errored trial has neither passed nor failed."""
    assert (verdict is Verdict.PASSED) is trial(verdict=verdict).passed


def test_errored_trial_has_a_reason_and_no_score() -> None:
    """Infrastructure failed, so nothing can be scored."""
    errored = Trial.errored(planned(), "OSError: disk full", 0.25)

    assert (Verdict.ERRORED, "OSError: disk full", (), 0.25) == (
        errored.verdict,
        errored.reason,
        errored.scores,
        errored.seconds,
    )


def test_invalid_trial_has_a_reason_and_no_score() -> None:
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
def test_written_trial_can_be_read(verdict: Verdict) -> None:
    """A resumed run reads its trials unchanged."""
    written = trial(verdict=verdict, seconds=0.123456)

    assert written == Trial.from_dict(json.loads(json.dumps(written.to_dict())))


def test_labels_and_turns_can_be_read() -> None:
    """The report of a resumed run covers all its parts."""
    read = Trial.from_dict(json.loads(json.dumps(WRONG.to_dict())))

    assert (WRONG.labels, WRONG.turns) == (read.labels, read.turns)


def test_record_without_labels_and_turns_can_be_read() -> None:
    """A journal outlives the version that wrote it."""
    old = {name: value for name, value in trial().to_dict().items() if name not in {"labels", "turns"}}

    assert trial() == Trial.from_dict(old)


@pytest.mark.parametrize("verdict", Verdict)
def test_record_has_only_json_primitives(verdict: Verdict) -> None:
    """Execnet refuses an enum even if it is a string."""
    found = {type(value) for value in _values(trial(verdict=verdict).to_dict())}

    assert found <= {str, int, float, bool, type(None), dict, list}


def test_transcript_is_not_part_of_the_record() -> None:
    """Megabytes of dialogue are not sent from worker to controller."""
    assert "Ada" not in json.dumps({**WRONG.to_dict(), "scores": []})


def test_colours_are_not_part_of_the_record() -> None:
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
def test_turn_passes_if_calls_and_reply_are_correct(
    *, called: bool, replied: bool, errors: int, passed: bool, recovered: int
) -> None:
    """Then its refused calls count as recovered."""
    turn = TurnOutcome(tool="client_search", called=called, replied=replied, steps=3, errors=errors)

    assert (passed, recovered) == (turn.passed, turn.recovered)


def test_seconds_are_rounded() -> None:
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
def test_invalid_record_is_not_a_trial(junk: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Trial.from_dict(junk)


def test_explanation_shows_each_fault_at_its_turn(snapshot: SnapshotAssertion) -> None:
    """Verdict and scores, then the dialogue with its faults, then those of the whole."""
    assert snapshot == WRONG.explain()


def test_folded_explanation_has_one_line_for_a_turn_that_passed() -> None:
    """If no turn has a fault, all are shown."""
    said = [Exchange(messages=[user_says(f"Do {n}."), agent_says(Reply(text="Done."))]) for n in (1, 2)]
    two = replace(WRONG, transcript=Transcript(exchanges=said))
    second, whole = (Score(name="calls", value=0.0, reason=reason) for reason in ("turn 2: not made", "not made"))

    lines = replace(two, scores=(second,)).explain(folded=True).splitlines()[1:]

    assert ["  turn 1: passed", "  turn 2", "    user   Do 2.", "    agent  Done.", "    ✗ calls: not made"] == lines
    assert "Do 1." in replace(two, scores=(whole,)).explain(folded=True)
    assert "Do 1." in replace(two, scores=(second,)).explain()


def test_errored_trial_is_explained_by_its_reason(snapshot: SnapshotAssertion) -> None:
    assert snapshot == trial(verdict=Verdict.ERRORED).explain()


def test_labels_survive_encoding() -> None:
    """With the split, if there is one; older journals have none."""
    held_out, plain = Labels(complexity="simple", tags=("create",), split="test"), Labels(complexity="simple")

    assert held_out == Labels.from_dict(json.loads(json.dumps(held_out.to_dict())))
    assert {"complexity": "simple", "category": "", "tags": []} == plain.to_dict()
    assert plain == Labels.from_dict(plain.to_dict())


def test_invalid_trial_is_explained_by_the_defect() -> None:
    invalid = Trial.invalid(planned(), "cases.jsonl:7: one: turn 1: nobody tells the e-mail address", Labels())

    assert (
        "oracle invalid one (crm, 0.00 s)\ncases.jsonl:7: one: turn 1: nobody tells the e-mail address"
        == invalid.explain()
    )


def test_explanation_can_be_printed() -> None:
    """Half a surrogate pair from an agent does not break the terminal."""
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
