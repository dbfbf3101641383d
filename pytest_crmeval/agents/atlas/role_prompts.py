"""Prompts of the roles: the student's instructions, answers in a fixed form, and one repair."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import TypeVar

from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, agent_says, user_says
from pytest_crmeval.domain.wire import encoded, written
from pytest_crmeval.ports.chat_model import ChatModel, Completion, Prompt

Answer = TypeVar("Answer")
Arguments = Mapping[str, Json]
LONGEST_MESSAGE = 2_000
"""Characters of one message that a role is shown: long lists of CRM rows teach nothing."""
_FULL = 100


class UnreadableError(Exception):
    """The answer of a role does not have the requested form; the message says why."""


def ask(model: ChatModel, prompt: Prompt, read: Callable[[Arguments], Answer]) -> Answer:
    """Ask for an answer, and again if it is unreadable; UnreadableError if both are."""
    try:
        return read(_arguments(model.complete(prompt), prompt.must_call))
    except UnreadableError as error:
        again = f"\n\nYour last answer could not be used: {error}. Call only `{prompt.must_call}`, exactly once."
    return read(_arguments(model.complete(replace(prompt, system=f"{prompt.system}{again}")), prompt.must_call))


def prompt_for(role: str, tool: Tool, sections: Mapping[str, str]) -> Prompt:
    """Return the request to a role: its instructions, and the sections that it is shown, each with its name."""
    shown = "\n\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in sections.items() if text)
    text = f"{shown}\n\nAnswer by calling `{tool.name}`."
    system = files(__package__).joinpath(f"{role}.md").read_text(encoding="utf-8").strip()
    return Prompt(system=system, messages=(user_says(text),), tools=(tool,), must_call=tool.name)


def dialogue(messages: Sequence[Message]) -> str:
    """Return a dialogue as the agent saw it, a line of JSON for each message."""
    lines = (encoded(written(replace(message, thoughts=""))).decode() for message in messages)
    return "\n".join(cut(line, LONGEST_MESSAGE, f"… ({len(line)} characters)") for line in lines)


def answer_tool(name: str, description: str, properties: Mapping[str, Json], optional: Sequence[str] = ()) -> Tool:
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
    """Return a text of an answer, safe to store and to show; UnreadableError if it is not a text."""
    value = arguments.get(name, "")
    if not isinstance(value, str):
        raise UnreadableError(f"{name} must be text")
    return cut("\n".join(filter(None, map(in_line, value.splitlines()))), longest, "").strip()


def in_line(text: str) -> str:
    """Return a text in one line, without characters that can't be stored or shown: half a surrogate pair, NUL."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def share_in(arguments: Arguments, name: str) -> float:
    """Return a share in [0, 1], given as a number from 0 to 100; UnreadableError if it is not one."""
    value = arguments.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _FULL:
        raise UnreadableError(f"{name} must be a whole number from 0 to {_FULL}")
    return value / _FULL


def _arguments(completion: Completion, tool: str) -> Arguments:
    calls = completion.reply.calls
    if len(calls) != 1 or calls[0].tool != tool:
        raise UnreadableError(f"it made {len(calls)} calls instead of one call of {tool} (ended: {completion.ending})")
    arguments = calls[0].arguments
    if not isinstance(arguments, Mapping):
        raise UnreadableError("its arguments are not a JSON object")
    return arguments


def student_instructions(
    system: str, playbook: Playbook, utterance: str, before: Reply | None, said: Sequence[str]
) -> str:
    """Return the student's instructions: the system prompt, its notes, the entries that fire, the teacher's guidance.

    ``before`` is the reply that the teacher has reviewed, ``said`` the guidance so far. A student with an empty
    playbook and no teacher gets the system prompt only, as every other agent.
    """
    parts = [system]
    if playbook.student_notes:
        parts.append(f"What you have learned so far\n{playbook.student_notes}")
    if fired := playbook.fired_by(utterance):
        entries = [
            f"- {entry.action} Effect: {entry.effect}.{f' Scope: {entry.scope}.' if entry.scope else ''}"
            for entry in fired
        ]
        parts.append("\n".join(["What you have learned about requests like this one", *entries]))
    if before is not None and said:
        proposed = dialogue([agent_says(before)])
        guidance = "\n".join(f"- {text}" for text in said)
        parts.append(
            f"Your teacher has reviewed the calls that you were about to make. They were not made:\n{proposed}\n"
            f"The teacher's guidance, the latest last:\n{guidance}\nMake the right calls now, or answer the user."
        )
    return "\n\n".join(parts)
