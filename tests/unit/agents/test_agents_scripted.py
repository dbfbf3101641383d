"""Agents whose every word is known beforehand."""

from pytest_crmeval.agents.scripted import Scripted, mute, parrot
from pytest_crmeval.domain.messages import Message, Reply, ToolResult, agent_says, crm_says, user_says
from tests.fakes import PaperCrm, call, calls, says

ASKED = [user_says("Who is Acme?")]
ANSWERED = [*ASKED, agent_says(calls(call("write"))), crm_says([ToolResult(value={"name": "Bolt"})])]
ASKED_AGAIN: list[Message] = [*ANSWERED, agent_says(says("Bolt.")), user_says("Call Dana.")]


def test_a_script_is_recited_to_every_utterance() -> None:
    """The same words and the same calls."""
    script = Reply(text="Deal!", calls=[call("write", name="Deal")])
    agent = Scripted(name="closer", answer=script)

    assert [script, script] == [agent.reply(messages, PaperCrm.tools) for messages in (ASKED, ASKED_AGAIN)]


def test_after_its_calls_a_script_is_over() -> None:
    """Otherwise it would call for ever."""
    agent = Scripted(name="closer", answer=Reply(text="Deal!", calls=[call("write")]))

    assert says("Deal!") == agent.reply(ANSWERED, PaperCrm.tools)


def test_mute_says_nothing_and_does_nothing() -> None:
    """Whatever it is asked."""
    assert [Reply()] * 3 == [mute().reply(messages, PaperCrm.tools) for messages in (ASKED, ANSWERED, ASKED_AGAIN)]


def test_parrot_repeats_the_user_and_calls_nothing() -> None:
    """All that the user has said so far, and that it was done."""
    reply = parrot().reply(ASKED_AGAIN, PaperCrm.tools)

    assert reply.text.startswith("Done: Who is Acme? Call Dana.\n")
    assert () == reply.calls


def test_parrot_uses_only_the_words_of_the_user() -> None:
    """Not what the CRM has answered, nor what it has said itself."""
    assert "Bolt" not in parrot().reply(ASKED_AGAIN, PaperCrm.tools).text
