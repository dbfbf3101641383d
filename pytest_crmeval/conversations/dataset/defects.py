"""Why nobody can pass a case."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_crmeval.conversations.dataset.entities import result_fields
from pytest_crmeval.conversations.dataset.findings import Finding, Kind, shown
from pytest_crmeval.conversations.dataset.knowledge import leaves, untold, walk
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord
from pytest_crmeval.conversations.scorers.mentions import read
from pytest_crmeval.domain.calls import canonical, writes
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.references import REFERENCE

_PLACEHOLDER = re.compile(r"\{\{\s*\w[\w .-]*\}\}|\{[^\W\d][\w.]*\}")
"""Braces around one name. Not ``{}``, ``{0}``, ``{"a": 1}`` or ``{a, b}``."""


def defects(record: ConversationRecord) -> Iterator[Finding]:
    """Yield what makes a case unsolvable; each tells, as text, what is wrong and where."""
    unsaid = list(_unsaid(record))
    for turn in record.turns:
        for placeholder in placeholders(turn.user_utterance):
            yield Finding(kind=Kind.PLACEHOLDER_IN_UTTERANCE, turn=turn.turn_id, text=placeholder)
        for placeholder in (found for call in turn.calls for found in _placeholders_in(call.arguments)):
            yield Finding(kind=Kind.PLACEHOLDER_IN_ARGUMENTS, turn=turn.turn_id, text=placeholder)
        for complaint in _bad_references(turn, record.turns):
            yield Finding(kind=Kind.BAD_REFERENCE, turn=turn.turn_id, text=complaint)
        yield from (finding for finding in unsaid if finding.turn == turn.turn_id)


def _unsaid(record: ConversationRecord) -> Iterator[Finding]:
    """Yield what is to be written and nobody can know."""
    for turn, call, knowledge in walk(record):
        refused = not turn.expect_success and call == canonical(turn.calls[0])  # it may ask for anything
        for name, value in untold(turn, call, knowledge) if writes(call.tool) and not refused else ():
            kind = Kind.LEAKED_VALUE if _leaked(turn, value) else Kind.UNSAID_VALUE
            yield Finding(kind=kind, turn=turn.turn_id, text=f"{name}={shown(value)}")


def placeholders(text: str) -> Iterator[str]:
    """Yield what was to be filled in before anybody saw the text; references, which are filled in later, are not."""
    if "{" in text:
        yield from (found for found in _PLACEHOLDER.findall(text) if not REFERENCE.fullmatch(found))


def texts_in(value: Any) -> Iterator[str]:  # noqa: ANN401 (JSON)
    """Yield the texts in a value, at any depth."""
    return (leaf for _, leaf in leaves("", value) if isinstance(leaf, str))


def _placeholders_in(arguments: Mapping[str, Any]) -> Iterator[str]:
    for text in texts_in(arguments):
        yield from placeholders(text)


def _bad_references(turn: TurnRecord, turns: Sequence[TurnRecord]) -> Iterator[str]:
    """Yield the references that nothing can answer; further calls and facts may ask for what the first call returns."""
    for text in (turn.user_utterance, *texts_in(turn.expected_args)):
        yield from _unanswered(text, turn.turn_id, turns)
    later = [text for call in turn.calls[1:] for text in texts_in(call.arguments)]
    for text in (*later, *(fact for fact in turn.reply_facts or () if isinstance(fact, str))):
        yield from _unanswered(text, turn.turn_id + 1, turns)


def _unanswered(text: str, here: int, turns: Sequence[TurnRecord]) -> Iterator[str]:
    for match in REFERENCE.finditer(text) if "{{" in text else ():
        if complaint := _complaint(here, int(match[1]), match[2], turns):
            yield f"{match[0]}, but {complaint}"


def _complaint(here: int, there: int, field: str, turns: Sequence[TurnRecord]) -> str:
    """Return why the field of another turn can't be had; empty if it can."""
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


def _leaked(turn: TurnRecord, value: object) -> bool:
    text = turn.expected_response.text if turn.expected_response else ""
    return str(value) in text or (isinstance(value, int | float) and read(text).says(value))
