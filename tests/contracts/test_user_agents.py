"""The contract of a user's agent in every form: function, async, object, server, program, with a tool server."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_crmeval.agents.calling import AgentError, in_conversation
from pytest_crmeval.agents.command import CommandAgent
from pytest_crmeval.agents.specs import make_agent
from pytest_crmeval.conversations.play import play
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.models.usage_meter import UsageMeter, opened
from pytest_crmeval.ports.agent import Agent
from tests.fakes import PaperCrm, conversation
from tests.own_agents import ELSEWHERE, IN_PROCESS, MAKING_CALLS, specs_in, write_forms

FORMS = (*IN_PROCESS, *ELSEWHERE)
ERRORS = {
    "fail": ("the key .* is refused", "the key .* is refused"),
    "flood": ("the reply is longer than 4,000,000 characters", "the answer is longer than 4,000,000 bytes"),
    "garble": ("must return a Reply or a string, but returned a value of type 'int'", "malformed answer: .*: '7'"),
}
"""The user's words -> the error in this process, and in another process."""
TIMEOUTS = {
    "Blocking": r"reply\(\) did not return within 0.2 s; an async agent blocks the event loop$",
    "function": r"agent 'function': reply\(\) did not return within 0.2 s; it is at .*forms.py:\d+$",
    "Object": r"agent 'object': reply\(\) did not return within 0.2 s; it is at .*forms.py:\d+$",
    "own_calls": r"agent 'own_calls': reply\(\) did not return within 0.2 s; it is at .*forms.py:\d+$",
    "Maker": r"agent 'object': reply\(\) did not return within 0.2 s; it is at .*forms.py:\d+$",
}


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Yield the spec of each form."""
    folder = tmp_path_factory.mktemp("forms")
    write_forms(folder)
    with pytest.MonkeyPatch.context() as patch, specs_in(folder) as found:
        patch.syspath_prepend(folder)
        yield found


class Made:
    """Creates the agent of a spec, for one conversation each time."""

    def __init__(self, spec: str) -> None:
        self._spec = spec
        self._program: CommandAgent | None = None

    def __call__(self, seconds: float = 300) -> Agent:
        """Return the agent in a new conversation."""
        agent = self._program or make_agent(self._spec, seconds)
        assert agent is not None
        if isinstance(agent, CommandAgent):
            self._program, agent.seconds = agent, seconds
        return in_conversation(agent, seconds)

    def close(self) -> None:
        """End the program."""
        if self._program is not None:
            self._program.close()


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    """Return the name of a form."""
    return str(request.param)


@pytest.fixture
def made(form: str, specs: Mapping[str, str]) -> Iterator[Made]:
    """Yield a function that creates the agent."""
    made = Made(specs[form])
    yield made
    made.close()


def reply_to(words: str, agent: Agent) -> str:
    """Return what an agent replies in a conversation of one turn."""
    return play(conversation(words), agent, PaperCrm()).exchanges[0].reply


class TestUserAgent:
    """Every form of an agent."""

    def test_conversations_in_flight_have_their_own_dialogue_and_usage(self, made: Made, form: str) -> None:
        """Although one agent plays all of them."""

        def played(number: int) -> tuple[list[ToolCall], str, Bill | None]:
            crm = PaperCrm()
            with opened(UsageMeter()) as meter:
                transcript = play(conversation(f"Add Ada {number}."), made(), crm)
            return crm.calls, transcript.exchanges[0].reply, meter.bill

        made()
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(played, range(3)))

        replies = 1 if form in MAKING_CALLS else 2
        bill = Bill(usage=Usage(input=7, output=3, calls=replies), cost=0.5)
        assert [("I have added Ada Ltd.", bill)] * 3 == [(reply, spent) for _, reply, spent in found]
        assert [[f"Add Ada {number}."] for number in range(3)] == [
            [call.arguments["notes"] for call in calls] for calls, _, _ in found
        ]

    def test_agent_that_hangs_is_an_error_and_the_next_conversation_is_played(self, made: Made, form: str) -> None:
        """The error says where it hangs, if that is known."""
        with pytest.raises(AgentError, match=TIMEOUTS.get(form, r"timeout: .* within 0.2 s")):
            reply_to("hang", made(0.2))

        assert "I have added Ada Ltd." == reply_to("Add Ada.", made())

    @pytest.mark.parametrize("words", ERRORS)
    def test_error_says_what_is_wrong_and_the_next_conversation_is_played(
        self, made: Made, form: str, words: str
    ) -> None:
        """An exception, an endless answer, or something that is not an answer."""
        with pytest.raises((AgentError, RuntimeError), match=ERRORS[words][form in ELSEWHERE]):
            reply_to(words, made())

        assert "I have added Ada Ltd." == reply_to("Add Ada.", made())

    @pytest.mark.parametrize("form", ELSEWHERE)
    def test_answer_for_another_conversation_is_an_error(self, made: Made) -> None:
        """There are no ids within this process."""
        with pytest.raises(AgentError, match="malformed answer: it is for another conversation, 'another'"):
            reply_to("mistake", made())
