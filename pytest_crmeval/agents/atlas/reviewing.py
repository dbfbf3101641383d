"""The teacher: reviews the calls of a student that would change the CRM, before they are made."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pytest_crmeval.agents.atlas.role_prompts import (
    Arguments,
    UnreadableError,
    answer_tool,
    ask,
    dialogue,
    prompt_for,
    text_in,
)
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.learning import PlaybookEntry, Review
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, agent_says
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.ports.chat_model import ChatModel

_VERDICTS = {"approve": Review.APPROVED, "correct": Review.CORRECTED, "take_over": Review.TAKEN_OVER}
_CALL: Mapping[str, Json] = {
    "type": "object",
    "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["tool", "arguments"],
    "additionalProperties": False,
}
LONGEST_GUIDANCE = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """The verdict of a teacher on a proposal."""

    review: Review
    guidance: str = ""
    instead: Reply | None = None
    """The teacher's own calls, if the verdict is to take over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The input of a teacher: everything that the student saw, and the student's reply."""

    messages: Sequence[Message]
    tools: Sequence[Tool]
    reply: Reply
    before: Sequence[str] = ()
    """The guidance on earlier proposals."""
    entries: Sequence[PlaybookEntry] = ()
    notes: str = ""


def review(model: ChatModel, proposal: Proposal, allowed: Sequence[str]) -> Reviewed:
    """Ask the teacher; an answer that is unreadable twice approves nothing."""
    described = (
        encoded({"name": tool.name, "about": tool.description, "takes": tool.parameters}).decode()
        for tool in proposal.tools
    )
    shown = {
        "tools": "\n".join(described),
        "notes": proposal.notes,
        "playbook": "\n".join(f"- {entry.action} ({entry.scope})" for entry in proposal.entries),
        "dialogue": dialogue(proposal.messages),
        "guidance-so-far": "\n".join(f"- {said}" for said in proposal.before),
        "proposal": dialogue([agent_says(proposal.reply)]),
    }
    properties: dict[str, Json] = {
        "verdict": {"type": "string", "enum": list(allowed)},
        "guidance": {
            "type": "string",
            "description": "For `correct`: what is wrong, and what to do instead. Otherwise empty.",
        },
    }
    if "take_over" in allowed:
        properties["calls"] = {
            "type": "array",
            "items": _CALL,
            "description": "For `take_over`: the calls to make instead of the proposed ones. Otherwise empty.",
        }
    about = "Decide what happens to the proposed calls."
    form = answer_tool("review", about, properties, optional=("guidance", "calls"))
    prompt = prompt_for("teacher", form, shown)
    names = {tool.name for tool in proposal.tools}
    try:
        return ask(model, prompt, lambda arguments: _read(arguments, allowed, names))
    except UnreadableError as error:
        return Reviewed(review=Review.UNREADABLE, guidance=str(error))


def _read(arguments: Arguments, allowed: Sequence[str], tools: Collection[str]) -> Reviewed:
    verdict, guidance = arguments.get("verdict"), text_in(arguments, "guidance", longest=LONGEST_GUIDANCE)
    if not isinstance(verdict, str) or verdict not in allowed:
        raise UnreadableError(f"verdict must be one of {', '.join(allowed)}")
    if verdict == "correct" and not guidance:
        raise UnreadableError("correct needs guidance")
    if verdict != "take_over":
        return Reviewed(review=_VERDICTS[verdict], guidance=guidance)
    calls = arguments.get("calls")
    if not isinstance(calls, Sequence) or isinstance(calls, str) or not calls:
        raise UnreadableError("take_over needs calls")
    instead = Reply(calls=tuple(_call(call, tools) for call in calls))
    return Reviewed(review=_VERDICTS[verdict], guidance=guidance, instead=instead)


def _call(call: Json, tools: Collection[str]) -> ToolCall:
    if not isinstance(call, Mapping) or not isinstance(arguments := call.get("arguments"), Mapping):
        raise UnreadableError("a call needs a tool and arguments")
    tool = call.get("tool")
    if not isinstance(tool, str) or tool not in tools:
        raise UnreadableError(f"there is no tool {cut(str(tool), 40)!r}")
    return ToolCall(tool=tool, arguments=arguments)
