"""The agent that is a prompt and a model."""

from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.agents.chat import ChatAgent, system_prompt
from pytest_crmeval.domain.messages import user_says
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.ports.chat_model import Completion, ModelIdentity, Prompt
from tests.fakes import PaperCrm, says


class Echo:
    """A model that remembers what it was asked."""

    identity = ModelIdentity(provider="paper", model="echo")

    def __init__(self) -> None:
        self.asked: list[Prompt] = []

    def complete(self, prompt: Prompt) -> Completion:
        """Repeat the last words."""
        self.asked.append(prompt)
        return Completion(reply=says(prompt.messages[-1].text), usage=Usage(calls=1))


def test_system_prompt_is_unchanged(snapshot: SnapshotAssertion) -> None:
    assert snapshot == system_prompt()


def test_a_model_is_shown_the_dialogue_the_tools_and_the_prompt_and_nothing_else() -> None:
    """What the agent got is what the model gets."""
    model = Echo()
    dialogue = (user_says("Who is Ada?"),)

    reply = ChatAgent(name="echo", model=model).reply(dialogue, PaperCrm.tools)

    assert says("Who is Ada?") == reply
    assert [Prompt(system=system_prompt(), messages=dialogue, tools=PaperCrm.tools)] == model.asked
