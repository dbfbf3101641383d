"""How a judge is asked, and how its answer is read."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.conversations.judge.brief import brief_of
from pytest_crmeval.conversations.judge.grading import GRADE, asking, asking_again, grade_in
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.judgement import Grade
from pytest_crmeval.domain.messages import Reply
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.judge import LONGEST_REASON, NoGradeError
from pytest_crmeval.ports.chat_model import Completion, StopReason
from tests.plays import FLEET
from tests.unit.models.opinions import CASE, answer, marks, played

FINE: JsonObject = {"reason": "fine", "goal": 100, "process": 100}


def test_the_request(snapshot: SnapshotAssertion) -> None:
    """The rubric, one message with the evidence, and the tool that has to be called."""
    prompt = asking(brief_of(CASE, played("It is at Negotiation.", after={"opportunities": [FLEET]})))

    assert snapshot(name="system") == prompt.system
    assert snapshot(name="message") == [message.text for message in prompt.messages]
    assert snapshot(name="tool") == (prompt.must_call, prompt.tools)


def test_whoever_is_asked_again_is_told_how_to_answer() -> None:
    """The evidence is the same, and nothing of the last answer is repeated."""
    first = asking("{}")
    again = asking_again(first)

    assert first.system in again.system
    assert "could not be used" in again.system
    assert (first.messages, first.tools, first.must_call) == (again.messages, again.tools, again.must_call)


def test_marks_are_read_as_shares() -> None:
    """100 is 1."""
    assert Grade(goal=0.85, process=1.0, reason="fine") == grade_in(marks(85, 100, " fine\n"))


@pytest.mark.parametrize("mark", [0, 100])
def test_the_ends_of_the_scale_are_marks(mark: int) -> None:
    """Both."""
    assert mark / 100 == grade_in(marks(mark)).goal


@pytest.mark.parametrize(
    "mark",
    [
        True,
        False,
        None,
        101,
        -1,
        85.0,
        85.5,
        float("nan"),
        float("inf"),
        "85",
        "",
        [85],
        {},
        pytest.param(10**5000, id="huge"),
    ],
)
@pytest.mark.parametrize("name", ["goal", "process"])
def test_what_is_no_mark_is_refused(name: str, mark: Any) -> None:  # noqa: ANN401 (JSON)
    """Nothing is guessed; the message names the mark and what a mark is."""
    with pytest.raises(NoGradeError, match=f"{name} is .*, not a whole number from 0 to 100"):
        grade_in(answer({**FINE, name: mark}))


@pytest.mark.parametrize("reason", ["", " \n", None, 7, ["fine"]])
def test_a_grade_has_a_reason(reason: Any) -> None:  # noqa: ANN401 (JSON)
    """In words."""
    with pytest.raises(NoGradeError, match="no reason"):
        grade_in(marks(100, 100, reason))


@pytest.mark.parametrize("missing", ["reason", "goal", "process"])
def test_a_grade_is_complete(missing: str) -> None:
    """A mark that is left out is not zero."""
    given = {name: value for name, value in FINE.items() if name != missing}

    with pytest.raises(NoGradeError, match="has to have reason, goal and process"):
        grade_in(answer(given))


def test_a_grade_has_nothing_else() -> None:
    """Whether it passes is not for the model to say."""
    with pytest.raises(NoGradeError, match="'pass': True"):
        grade_in(answer({**FINE, "goal": 0, "pass": True}))


@pytest.mark.parametrize("ending", ["said", "length", "refusal"])
def test_an_answer_without_a_grade_says_how_it_ended(ending: StopReason) -> None:
    """Tokens may have run out, or the judge does not want to."""
    words = Completion(reply=Reply(text="goal: 100, process: 100"), usage=Usage(), ending=ending)

    with pytest.raises(NoGradeError, match=f"no grade in an answer that ended with '{ending}'"):
        grade_in(words)


def test_two_grades_are_none() -> None:
    """Nobody knows which one is meant."""
    with pytest.raises(NoGradeError, match="2 grades"):
        grade_in(answer(FINE, FINE))


def test_a_call_of_another_tool_is_no_grade() -> None:
    """Whatever its arguments are."""
    with pytest.raises(NoGradeError, match="'delete_client' and not grade"):
        grade_in(answer(FINE, tool="delete_client"))


def test_a_long_reason_is_cut() -> None:
    """It goes into every report."""
    assert LONGEST_REASON == len(grade_in(marks(100, 100, "x" * 100_000)).reason)


def test_the_tool_asks_for_what_is_read() -> None:
    """Reason first: who has to say why gives better marks."""
    parameters: Any = GRADE.parameters

    assert ["reason", "goal", "process"] == list(parameters["properties"]) == parameters["required"]
