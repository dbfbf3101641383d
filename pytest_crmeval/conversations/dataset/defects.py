"""Defects that make a case invalid: no agent can pass it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_crmeval.conversations.dataset.crm_schema import result_fields
from pytest_crmeval.conversations.dataset.findings import Finding, FindingKind, shown
from pytest_crmeval.conversations.dataset.knowledge import expected_calls, leaves, unknown_arguments
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord
from pytest_crmeval.conversations.references import REFERENCE
from pytest_crmeval.conversations.scorers.mentions import read
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.ports.crm_calls import canonical, writes

_PLACEHOLDER = re.compile(r"\{\{\s*\w[\w .-]*\}\}|\{[^\W\d][\w.]*\}")
"""Braces around one name. Not ``{}``, ``{0}``, ``{"a": 1}`` or ``{a, b}``."""


def defects(record: ConversationRecord) -> Iterator[Finding]:
    """Yield the defects that make a case unsolvable, turn by turn."""
    unsaid = list(_unsaid_values(record))
    for turn in record.turns:
        for placeholder in placeholders(turn.user_utterance):
            yield Finding(kind=FindingKind.PLACEHOLDER_IN_UTTERANCE, turn=turn.turn_id, text=placeholder)
        for text in texts_of(turn):
            for placeholder in placeholders(text):
                yield Finding(kind=FindingKind.PLACEHOLDER_IN_ARGUMENTS, turn=turn.turn_id, text=placeholder)
        for complaint in _bad_references(turn, record.turns):
            yield Finding(kind=FindingKind.BAD_REFERENCE, turn=turn.turn_id, text=complaint)
        yield from (finding for finding in unsaid if finding.turn == turn.turn_id)


def _unsaid_values(record: ConversationRecord) -> Iterator[Finding]:
    """Yield the values that are to be written although an agent can't know them."""
    for turn, call, knowledge in expected_calls(record):
        refused = not turn.expect_success and call == canonical(turn.calls[0])  # a refused call may have any value
        if refused or not writes(call.tool):
            continue
        response = turn.expected_response.text if turn.expected_response else ""
        for name, value in unknown_arguments(turn, call, knowledge):
            leaked = str(value) in response or (isinstance(value, int | float) and read(response).says(value))
            kind = FindingKind.LEAKED_VALUE if leaked else FindingKind.UNSAID_VALUE
            yield Finding(kind=kind, turn=turn.turn_id, text=f"{name}={shown(value)}")


def placeholders(text: str) -> Iterator[str]:
    """Yield the placeholders in a text; not references, which are resolved while the case is played."""
    if "{" in text:
        yield from (found for found in _PLACEHOLDER.findall(text) if not REFERENCE.fullmatch(found))


def texts_in(value: Any) -> Iterator[str]:  # noqa: ANN401 (JSON)
    """Yield the texts in a value, at any depth."""
    return (leaf for _, leaf in leaves("", value) if isinstance(leaf, str))


def texts_of(turn: TurnRecord) -> Iterator[str]:
    """Yield the texts in the arguments of a turn's expected calls."""
    return (text for call in turn.calls for text in texts_in(call.arguments))


def _bad_references(turn: TurnRecord, turns: Sequence[TurnRecord]) -> Iterator[str]:
    """Yield the references that can't be resolved; further calls and facts may refer to the first call's result."""
    now = [turn.user_utterance, *texts_in(turn.expected_args)]
    later = [text for call in turn.calls[1:] for text in texts_in(call.arguments)]
    later += [fact for fact in turn.reply_facts or () if isinstance(fact, str)]
    for texts, limit in ((now, turn.turn_id), (later, turn.turn_id + 1)):
        for match in (match for text in texts for match in REFERENCE.finditer(text)):
            if problem := _unresolvable(limit, int(match[1]), match[2], turns):
                yield f"{match[0]}, but {problem}"


def _unresolvable(here: int, there: int, field: str, turns: Sequence[TurnRecord]) -> str:
    """Return why a reference to a field of another turn can't be resolved; empty if it can."""
    if not 1 <= there <= len(turns):
        return f"there is no turn {there}"
    if there >= here:
        return f"turn {there} is not over yet"
    producer = turns[there - 1]
    if not producer.expected_tool:
        return f"turn {there} calls nothing"
    if not producer.expect_success:
        return f"turn {there} is expected to be refused"
    call = canonical(ToolCall(tool=producer.expected_tool, arguments={}))
    fields = result_fields(call.tool)
    return f"{call.tool} has no such field" if fields is not None and field not in fields else ""
