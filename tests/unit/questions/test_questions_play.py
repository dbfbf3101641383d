"""One question, one answer."""

from collections.abc import Sequence

import pytest

from pytest_crmeval.agents.calling import as_agent
from pytest_crmeval.agents.scripted import Scripted
from pytest_crmeval.domain.messages import Message, Reply, ToolCall
from pytest_crmeval.questions.play import ask, prompt_of
from tests.questions import asked


def test_agent_is_asked_for_an_answer_that_can_be_graded() -> None:
    ends = {grader: prompt_of(asked(grader, "1")).splitlines()[-1] for grader in ("exact", "numeric")}

    assert all('"Answer: X"' in end for end in ends.values())
    assert "Confidence: how confident you are, from 0% to 100%" == prompt_of(asked("judge")).splitlines()[-1]


def test_choices_have_letters() -> None:
    shown = prompt_of(asked("choice", "B", choices=("Rome", "Paris"))).splitlines()

    assert ["What is the capital of France?", "", "A) Rome", "B) Paris", ""] == shown[:5]


def test_prompt_says_if_the_agent_may_abstain() -> None:
    assert prompt_of(asked("judge", may_abstain=True)).endswith("say so instead of guessing.")
    assert "guessing" not in prompt_of(asked("judge"))


@pytest.mark.parametrize("grader", ["exact", "numeric", "choice", "judge"])
def test_answer_is_not_in_the_question(grader: str) -> None:
    secret = asked(grader, "8417355", aliases=("9921100",), choices=("x", "y") if grader == "choice" else ())

    assert not [word for word in ("8417355", "9921100") if word in prompt_of(secret)]


def test_transcript_has_question_and_answer() -> None:
    said: list[Message] = []
    transcript = ask(asked(), Scripted(name="s", answer=Reply(text="Answer: Paris")), max_steps=3, messages=said)

    (exchange,) = transcript.exchanges
    assert ("Answer: Paris", ["user", "agent"]) == (exchange.reply, [message.speaker for message in said])


def test_tool_call_in_a_question_gets_an_error() -> None:
    agent = Scripted(name="s", answer=Reply(text="Paris", calls=(ToolCall(tool="search"),)))

    (exchange,) = ask(asked(), agent, max_steps=3).exchanges

    assert ("Paris", 2) == (exchange.reply, exchange.steps)
    assert "there are no tools here; answer in words" == exchange.calls[0][1].error.message  # type: ignore[union-attr]


def test_agent_with_a_tool_server_gets_none() -> None:
    def agent(messages: Sequence[Message], tool_server: object) -> str:
        return f"{messages[0].speaker} {tool_server}"

    found = as_agent(agent, "")
    assert found is not None

    assert "user None" == ask(asked(), found, max_steps=3).exchanges[0].reply


def test_agent_that_only_calls_tools_gives_no_answer() -> None:
    """When its steps are used up."""

    class Caller:
        name = "caller"

        def reply(self, messages: object, tools: object) -> Reply:
            del messages, tools
            return Reply(text="wait", calls=(ToolCall(tool="search"),))

    (exchange,) = ask(asked(), Caller(), max_steps=3).exchanges

    assert (True, "", 3) == (exchange.cut, exchange.reply, exchange.steps)
