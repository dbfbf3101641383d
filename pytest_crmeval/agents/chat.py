"""An agent that is a prompt and a language model."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import ClassVar

from pytest_crmeval.domain.messages import Message, Reply, Tool, rules_apart
from pytest_crmeval.ports.chat_model import ChatModel, Prompt


@cache
def system_prompt() -> str:
    """Return the system prompt of conversations, the same for all models and cases."""
    return files(__package__).joinpath("system_prompt.md").read_text(encoding="utf-8").strip()


@cache
def question_prompt() -> str:
    """Return the system prompt of questions."""
    return files(__package__).joinpath("question_prompt.md").read_text(encoding="utf-8").strip()


@dataclass(frozen=True, kw_only=True)
class ChatAgent:
    """Shows a model the dialogue, and returns the model's reply."""

    reply_timeout: ClassVar[float] = 0  # its model has one
    name: str
    model: ChatModel
    system: str = field(default_factory=system_prompt, repr=False)

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Let the model answer; ModelError if it gives no answer."""
        rules, dialogue = rules_apart(messages)
        system = f"{self.system}\n\n{rules}" if rules else self.system
        return self.model.complete(Prompt(system=system, messages=dialogue, tools=tools)).reply


def for_questions(agent: ChatAgent) -> ChatAgent:
    """Return the same model with the prompt for questions."""
    return replace(agent, system=question_prompt())
