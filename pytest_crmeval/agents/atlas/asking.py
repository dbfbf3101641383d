"""How a role is asked for an answer in a fixed form, and how it is read: strictly, with one repair."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import TypeVar

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Tool, user_says
from pytest_crmeval.domain.prompt import Completion, Prompt
from pytest_crmeval.domain.wire import encoded, written
from pytest_crmeval.ports.chat_model import ChatModel

Answer = TypeVar("Answer")
Arguments = Mapping[str, Json]
LONGEST_MESSAGE = 2_000
"""How much of one message a role is shown: a list of everything in the CRM teaches nobody."""
_FULL = 100


class UnreadableError(Exception):
    """What a role answered has not the form that was asked for; the message says why."""


def asked(model: ChatModel, prompt: Prompt, read: Callable[[Arguments], Answer]) -> Answer:
    """Ask for an answer, and once more if it can't be read; UnreadableError if it can't be read then, either."""
    try:
        return read(_arguments(model.complete(prompt), prompt.must_call))
    except UnreadableError as error:
        again = f"\n\nYour last answer could not be used: {error}. Call `{prompt.must_call}` exactly once, in its form."
    return read(_arguments(model.complete(replace(prompt, system=f"{prompt.system}{again}")), prompt.must_call))


def prompt_for(role: str, tool: Tool, sections: Mapping[str, str]) -> Prompt:
    """Return the request to a role: its standing orders, and what it is shown, each part under its name."""
    shown = "\n\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in sections.items() if text)
    text = f"{shown}\n\nAnswer by calling `{tool.name}`."
    return Prompt(system=orders(role), messages=(user_says(text),), tools=(tool,), must_call=tool.name)


def orders(role: str) -> str:
    """Return what a role is always told."""
    return files(__package__).joinpath(f"{role}.md").read_text(encoding="utf-8").strip()


def dialogue(messages: Sequence[Message]) -> str:
    """Return a dialogue as it was seen on the agent's side, a line of JSON for each message."""
    lines = (encoded(written(replace(message, thoughts=""))).decode() for message in messages)
    return "\n".join(cut(line, LONGEST_MESSAGE, f"… ({len(line)} characters)") for line in lines)


def form(name: str, description: str, properties: Mapping[str, Json], optional: Sequence[str] = ()) -> Tool:
    """Return the tool that a role answers with."""
    required = [field for field in properties if field not in optional]
    return Tool(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
    )


def text_in(arguments: Arguments, name: str, *, longest: int = LONGEST_MESSAGE) -> str:
    """Return a text of an answer, as it can be kept and shown anywhere; UnreadableError if it is none."""
    value = arguments.get(name, "")
    if not isinstance(value, str):
        raise UnreadableError(f"{name} is to be text")
    return cut("\n".join(filter(None, map(in_line, value.splitlines()))), longest, "").strip()


def in_line(text: str) -> str:
    """Return a text in one line, without what no terminal, database or wire would take: half a surrogate pair, NUL."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def share_in(arguments: Arguments, name: str) -> float:
    """Return a share of an answer, given from 0 to 100; UnreadableError if it is none."""
    value = arguments.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _FULL:
        raise UnreadableError(f"{name} is to be a whole number from 0 to {_FULL}")
    return value / _FULL


def _arguments(completion: Completion, tool: str) -> Arguments:
    calls = completion.reply.calls
    if len(calls) != 1 or calls[0].tool != tool:
        raise UnreadableError(f"it calls {len(calls)} tools and not {tool} alone (it ended with {completion.ending})")
    arguments = calls[0].arguments
    if not isinstance(arguments, Mapping):
        raise UnreadableError("its arguments are no JSON object")
    return arguments
