"""The teacher: looks at what a student wants to change before it is changed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pytest_crmeval.agents.atlas.asking import Arguments, UnreadableError, asked, dialogue, form, prompt_for, text_in
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.learning import Entry, Review
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
    """What a teacher says of a proposal."""

    review: Review
    guidance: str = ""
    instead: Reply | None = None
    """What the teacher does himself, if he takes over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a teacher is shown: what the student was shown, and what he makes of it."""

    messages: Sequence[Message]
    tools: Sequence[Tool]
    reply: Reply
    before: Sequence[str] = ()
    """What was said of his earlier proposals."""
    entries: Sequence[Entry] = ()
    notes: str = ""


def review(model: ChatModel, proposal: Proposal, allowed: Sequence[str]) -> Reviewed:
    """Ask the teacher; an answer that can't be read, twice, is none, and approves nothing."""
    prompt = prompt_for("teacher", _form(allowed), _shown(proposal))
    names = {tool.name for tool in proposal.tools}
    try:
        return asked(model, prompt, lambda arguments: _read(arguments, allowed, names))
    except UnreadableError as error:
        return Reviewed(review=Review.UNREADABLE, guidance=str(error))


def _form(allowed: Sequence[str]) -> Tool:
    properties: dict[str, Json] = {
        "verdict": {"type": "string", "enum": list(allowed)},
        "guidance": {
            "type": "string",
            "description": "To `correct`: what is wrong, and what to do. Else empty.",
        },
    }
    if "take_over" in allowed:
        properties["calls"] = {
            "type": "array",
            "items": _CALL,
            "description": "To `take_over`: the calls to make in place of the proposed ones. Else empty.",
        }
    return form("review", "Say what becomes of the proposed calls.", properties, optional=("guidance", "calls"))


def _shown(proposal: Proposal) -> dict[str, str]:
    return {
        "tools": "\n".join(map(_described, proposal.tools)),
        "notes": proposal.notes,
        "playbook": "\n".join(f"- {entry.action} ({entry.scope})" for entry in proposal.entries),
        "dialogue": dialogue(proposal.messages),
        "guidance-so-far": "\n".join(f"- {said}" for said in proposal.before),
        "proposal": dialogue([agent_says(proposal.reply)]),
    }


def _described(tool: Tool) -> str:
    return encoded({"name": tool.name, "about": tool.description, "takes": tool.parameters}).decode()


def _read(arguments: Arguments, allowed: Sequence[str], tools: Collection[str]) -> Reviewed:
    verdict, guidance = arguments.get("verdict"), text_in(arguments, "guidance", longest=LONGEST_GUIDANCE)
    if not isinstance(verdict, str) or verdict not in allowed:
        raise UnreadableError(f"verdict is to be one of {', '.join(allowed)}")
    if verdict == "correct" and not guidance:
        raise UnreadableError("to correct takes guidance")
    instead = _instead(arguments.get("calls"), tools) if verdict == "take_over" else None
    return Reviewed(review=_VERDICTS[verdict], guidance=guidance, instead=instead)


def _instead(calls: Json, tools: Collection[str]) -> Reply:
    if not isinstance(calls, Sequence) or isinstance(calls, str) or not calls:
        raise UnreadableError("to take over takes calls")
    return Reply(calls=tuple(_call(call, tools) for call in calls))


def _call(call: Json, tools: Collection[str]) -> ToolCall:
    if not isinstance(call, Mapping) or not isinstance(arguments := call.get("arguments"), Mapping):
        raise UnreadableError("a call is to have a tool and arguments")
    tool = call.get("tool")
    if not isinstance(tool, str) or tool not in tools:
        raise UnreadableError(f"there is no tool {cut(str(tool), 40)!r}")
    return ToolCall(tool=tool, arguments=arguments)
