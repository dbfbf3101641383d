"""One attempt at one case."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.messages import Reply, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.domain.trial import Trial
from tests.fakes import call, planned, trial

WRONG = Trial(
    planned=planned(),
    verdict=Verdict.FAILED,
    scores=(
        Score(name="facts", value=1.0),
        Score(name="state", value=0.0, reason="clients: 1 missing: name='Ada Ltd'"),
    ),
    seconds=1.2345678,
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


@pytest.mark.parametrize("verdict", Verdict)
def test_what_was_written_can_be_read(verdict: Verdict) -> None:
    """A resumed run knows its trials as they were."""
    written = trial(verdict=verdict, seconds=0.123456)

    assert written == Trial.from_dict(json.loads(json.dumps(written.to_dict())))


@pytest.mark.parametrize("verdict", Verdict)
def test_a_record_holds_json_primitives_and_nothing_derived_from_them(verdict: Verdict) -> None:
    """Execnet refuses an enum even if it is a string."""
    found = {type(value) for value in _values(trial(verdict=verdict).to_dict())}

    assert found <= {str, int, float, bool, type(None), dict, list}


def test_the_transcript_stays_at_home() -> None:
    """Megabytes of dialogue are not sent from worker to controller."""
    assert "Ada" not in json.dumps({**WRONG.to_dict(), "scores": []})


def test_seconds_are_rounded_to_what_can_be_measured() -> None:
    """Nobody reads nanoseconds."""
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
    ],
)
def test_junk_is_not_a_trial(junk: dict[str, Any]) -> None:
    """Whoever reads a journal catches these three."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        Trial.from_dict(junk)


def test_an_explanation_tells_what_went_wrong_and_where(snapshot: SnapshotAssertion) -> None:
    """The scores that were missed, then the dialogue; what was right needs no words."""
    assert snapshot == WRONG.explain()


def test_an_errored_trial_explains_what_broke(snapshot: SnapshotAssertion) -> None:
    """With the reason that will be in the report."""
    assert snapshot == trial(verdict=Verdict.ERRORED).explain()


def _values(value: object) -> Iterator[object]:
    yield value
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _values(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _values(item)
