"""The difference between a request and the one that was recorded in its place."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import groupby, takewhile, zip_longest
from typing import Any

from pytest_crmeval.domain.cutting import redacted
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.models.cassettes.exchanges import RecordedExchange, prompt_id, tools_of
from pytest_crmeval.ports.chat_model import ModelIdentity, Prompt

_WIDTH, _LINES = 100, 6
_DIFF_HEAD = 3
"""Header lines of a diff: two file names and a position."""
_LOOK = 200
"""Lines that are compared from the first difference on: a diff of long texts is slow."""
HIDDEN = "the recorded exchange contains a secret, which was not recorded; record it again without the secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentRequest:
    """The present request."""

    identity: ModelIdentity
    prompt: Prompt
    messages: Sequence[Json]
    """The messages of the prompt as JSON."""


def difference(
    request: PresentRequest, exchanges: Sequence[RecordedExchange], place: int, prompts: Mapping[str, Any]
) -> str:
    """Return the first field that differs from the recording, with a few lines of the diff.

    ``prompts`` has the recorded system prompts and tools that could be read.
    """
    if place >= len(exchanges):
        last = _diff("", request.messages[-1]) if request.messages else ""
        return f"the recording ends before it; its last message is\n{last}"
    line = exchanges[place].line
    found = [*_in_identity(request, line), *_in_prompt(request, line, prompts)]
    found += [HIDDEN] if exchanges[place].redacted else []
    found += [] if found else _in_messages(request.messages, _messages(exchanges[: place + 1]))
    return found[0] if found else "it equals a recorded request, but is sent more often than it was recorded"


def _in_identity(request: PresentRequest, line: Mapping[str, Any]) -> Iterator[str]:
    identity = request.identity
    fields: dict[str, tuple[str, Json]] = {
        "provider": ("the provider differs", identity.provider),
        "model": ("the model differs", identity.model),
        "settings": ("the settings differ", identity.settings),
        "must_call": ("the tool that has to be called differs", request.prompt.must_call),
    }
    for name, (what, now) in fields.items():
        if _differ(before := line.get(name, ""), now):
            yield f"{what} from what was recorded\n{_diff(before, now)}"


def _in_prompt(request: PresentRequest, line: Mapping[str, Any], prompts: Mapping[str, Any]) -> Iterator[str]:
    before, now = line["prompt"], prompt_id(request.prompt)
    if before == now:
        return
    known = prompts.get(before)
    if known is None:
        yield f"the system prompt or the tools differ from what was recorded (prompts/{before}.json is missing)"
        return
    if known["system"] != request.prompt.system:
        yield f"the system prompt differs from what was recorded\n{_diff(known['system'], request.prompt.system)}"
    yield f"the tools differ from what was recorded\n{_diff(known['tools'], tools_of(request.prompt))}"


def _in_messages(now: Sequence[Json], before: Sequence[Json]) -> Iterator[str]:
    for number, (was, is_now) in enumerate(zip_longest(before, now), start=1):
        if was is None:
            yield f"message {number} of {len(now)} was not recorded\n{_diff('', is_now)}"
        elif is_now is None:
            yield f"message {number} of {len(before)} was recorded, but is missing now\n{_diff(was, '')}"
        elif _differ(was, is_now):
            yield f"message {number} of {len(now)} differs from what was recorded\n{_diff(was, is_now)}"


def _messages(exchanges: Sequence[RecordedExchange]) -> Sequence[Json]:
    """Return all messages of the last request."""
    messages: list[Json] = []
    for exchange in exchanges:
        line = exchange.line
        messages = [*messages, *line["added"]] if "added" in line else list(line.get("messages", ()))
    return messages


def _differ(before: Json, now: Json) -> bool:
    return encoded(before, canonical=True) != encoded(now, canonical=True)


def _diff(before: Json, now: Json) -> str:
    """Return the lines around the first difference."""
    old, new = _lines(before), _lines(now)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    shown = slice(max(0, same - 1), same + _LOOK)
    found = list(unified_diff(old[shown], new[shown], n=1, lineterm=""))[_DIFF_HEAD:]
    first = takewhile(lambda line: not line.startswith("@@"), found)
    shortened = []
    for _, kind in groupby(first, key=lambda line: line[0]):  # so that removed lines don't hide the added ones
        lines = list(kind)
        shortened += lines[:_LINES]
        shortened += [f"  ({len(lines) - _LINES} more lines)"] if len(lines) > _LINES else []
    return "\n".join(["--- recorded", "+++ asked", *shortened])


def _lines(value: Json) -> list[str]:
    """Return a value as lines of limited width."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=dict)
    lines = redacted(text).split("\n") if text else []
    return [line[at : at + _WIDTH] for line in lines for at in range(0, len(line) or 1, _WIDTH)]
