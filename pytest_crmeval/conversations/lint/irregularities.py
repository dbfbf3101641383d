"""Irregularities of a case: agents can still pass it, but its author should know."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_crmeval.conversations.dataset.crm_schema import CATEGORIES, TOOLS
from pytest_crmeval.conversations.dataset.defects import placeholders, texts_in, texts_of
from pytest_crmeval.conversations.dataset.findings import Finding, FindingKind, shown
from pytest_crmeval.conversations.dataset.knowledge import ID, Knowledge, expected_calls, unknown_arguments
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord
from pytest_crmeval.conversations.references import REFERENCE
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm_calls import ARGUMENT_ALIASES, writes

_TASK = re.compile(r"SKEL-(?P<task>[A-Z ]+)_(?P<level>simple|medium|complex)_")
_TASK_WORDS = {
    **{name.upper(): name for name in CATEGORIES},
    **{f"{name.upper()}S": name for name in CATEGORIES},
    "COMPANIES": "Company",
    "OPPORTUNITIES": "Opportunity",
}
_LEVELS = {"simple": range(1, 4), "medium": range(4, 7), "complex": range(7, 17)}
_TOOL_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_FILLERS = re.compile(
    r"\b(?:search|find|show|list|get|give|look|up|see|display|me|us|for|all|every|any|the|our|my|a|an|of|what|which|do|we"
    r"|have|are|there|i|want|need|to|can|could|you|please|clients?|contacts?|opportunit(?:y|ies)|deals?|quotes?"
    r"|contracts?|compan(?:y|ies))\b|\W",
    re.IGNORECASE,
)
"""An utterance that consists of these only asks for all records."""
_NAMED_FIELDS: Mapping[str, re.Pattern[str]] = {
    "stage": re.compile(r"\b(?:in|at|by|with) (?:the )?stage\b", re.IGNORECASE),
    "status": re.compile(r"\b(?:in|by|with) (?:the )?status\b", re.IGNORECASE),
    "first_name": re.compile(r"\bfirst name\b", re.IGNORECASE),
    "last_name": re.compile(r"\b(?:last|family) name\b", re.IGNORECASE),
    "email": re.compile(r"\b(?:by|with) (?:the )?e-?mail\b", re.IGNORECASE),
    "owner": re.compile(r"\bowned by\b|\bby owner\b", re.IGNORECASE),
}
"""How a user names the field to search by."""


def irregularities(record: ConversationRecord, *, lists_references: bool) -> Iterator[Finding]:
    """Yield the irregularities; ``lists_references``: whether the line has the field references_previous_turns."""
    yield from _of_labels(record)
    content = _content(record)
    for turn in record.turns:
        for kind, text in (*_of_utterance(turn), *_of_response(turn, content)):
            yield Finding(kind=kind, turn=turn.turn_id, text=text)
        referred = {int(match[1]) for text in texts_of(turn) for match in REFERENCE.finditer(text)} - {turn.turn_id}
        if lists_references and (left_out := referred - set(turn.references_previous_turns)):
            text = f"turns {sorted(left_out)} are left out of {turn.references_previous_turns}"
            yield Finding(kind=FindingKind.UNLISTED_REFERENCE, turn=turn.turn_id, text=text)
    changed: set[str] = set()
    for turn, call, knowledge in expected_calls(record):
        if turn.expect_success:
            for kind, text in _of_search(turn, call, knowledge):
                yield Finding(kind=kind, turn=turn.turn_id, text=text)
            if call.tool.startswith("modify_") and _changes_nothing(call, knowledge, changed):
                text = f"{call.tool} {shown(dict(call.arguments))}"
                yield Finding(kind=FindingKind.NO_OP, turn=turn.turn_id, text=text)
        if writes(call.tool):
            changed.add(TOOLS.get(call.tool, ""))


def _of_utterance(turn: TurnRecord) -> Iterator[tuple[FindingKind, str]]:
    said = turn.user_utterance
    if references := [match[0] for match in REFERENCE.finditer(said)]:
        yield FindingKind.REFERENCE_IN_UTTERANCE, f"{', '.join(references)} in {shown(said)}"
    if names := [name for name in _TOOL_NAME.findall(said) if name in TOOLS]:
        yield FindingKind.TOOL_NAME_SAID, f"{names[0]} in {shown(said)}"
    for call in turn.calls:
        for alias in ARGUMENT_ALIASES.get(call.tool, {}):
            if alias in call.arguments:
                yield FindingKind.ALIASED_ARGUMENT, f"{call.tool}.{alias}"


def _of_search(turn: TurnRecord, call: ToolCall, knowledge: Knowledge) -> Iterator[tuple[FindingKind, str]]:
    if writes(call.tool):
        return
    said = turn.user_utterance
    filters = [f"{name}={shown(value)}" for name, value in call.arguments.items() if not name.endswith(("_id", "_ids"))]
    if filters and not _FILLERS.sub("", said):
        yield FindingKind.BARE_SEARCH, f"{', '.join(filters)} for {shown(said)}"
    elif unsaid := [f"{name}={shown(value)}" for name, value in unknown_arguments(turn, call, knowledge)]:
        yield FindingKind.UNSAID_FILTER, f"{', '.join(unsaid)} for {shown(said)}"
    if call.tool.endswith("_search") and call.arguments and not turn.further_calls:  # else the words may be for those
        for field, named in _NAMED_FIELDS.items():
            if field not in call.arguments and named.search(said):
                yield FindingKind.CONTRADICTED_FILTER, f"{shown(said)} filters by {', '.join(call.arguments)}"
    if call.tool == "company_search" and not knowledge.rows["Company"]:
        yield FindingKind.NOTHING_TO_FIND, "company_search, but there is no company"
    quotes = (*knowledge.rows["Quote"].values(), *knowledge.seen_rows())
    if call.tool == "quote_prefixes" and not any(row.get("quote_prefix") for row in quotes):
        yield FindingKind.NOTHING_TO_FIND, "quote_prefixes, but no quote has a prefix"


def _changes_nothing(call: ToolCall, knowledge: Knowledge, changed: set[str]) -> bool:
    """Whether a record that was not changed before already has the new values."""
    entity = TOOLS.get(call.tool, "")
    if entity not in TABLES or entity in changed:
        return False
    key, rows = TABLES[entity][1], knowledge.rows[entity]
    identity = str(call.arguments.get(key, ""))
    reference = REFERENCE.fullmatch(identity)
    if reference and reference[2] == key and len(rows) == 1:  # it can only mean that row
        row: Mapping[str, Any] = next(iter(rows.values()))
    else:
        row = rows.get(identity.lower(), {})
    changes = {name: value for name, value in call.arguments.items() if name != key}
    return bool(row and changes) and all(name in row and row[name] == value for name, value in changes.items())


_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?")
_NULL = re.compile(r"\bnull\b")


def _of_response(turn: TurnRecord, content: str) -> Iterator[tuple[FindingKind, str]]:
    text = turn.expected_response.text if turn.expected_response else ""
    if stale := [stamp for stamp in _TIMESTAMP.findall(text) if stamp.lower() not in content]:
        yield FindingKind.STALE_TIMESTAMP, stale[0]
    if foreign := [each for each in ID.findall(text) if each.lower() not in content]:
        yield FindingKind.FOREIGN_ID, foreign[0]
    if unresolved := [*(match[0] for match in REFERENCE.finditer(text)), *placeholders(text)]:
        yield FindingKind.UNRESOLVED_RESPONSE, f"{', '.join(unresolved)} in {shown(text)}"
    if _NULL.search(text) and "null" not in content:
        yield FindingKind.NULL_NAME, shown(text)


UNTRUE = (FindingKind.STALE_TIMESTAMP, FindingKind.FOREIGN_ID, FindingKind.UNRESOLVED_RESPONSE)
"""Irregularities because of which a truthful agent can't give the expected response word for word."""


def _content(record: ConversationRecord) -> str:
    """Return all text of the conversation in lower case: utterances, arguments, rows."""
    seed = record.initial_entities.seed_data
    rows = [row for entity in TABLES for row in getattr(seed, entity.lower()).items()]
    parts = [str(record.now or "")]
    for identity, row in rows:
        parts += (str(identity), *texts_in(row))
    for turn in record.turns:
        parts += (turn.user_utterance, *texts_of(turn))
    return "\n".join(parts).lower()


def _of_labels(record: ConversationRecord) -> Iterator[Finding]:
    level, turns = record.complexity_level, len(record.turns)
    task = _TASK.match(record.conversation_id)
    if task and task["level"] != level:
        yield Finding(kind=FindingKind.LABEL_NOT_LEVEL, text=f"complexity_level is {level}")
    if turns not in _LEVELS[level] and not (record.chain_id and turns > _LEVELS[level][-1]):
        yield Finding(kind=FindingKind.LEVEL_NOT_TURNS, text=f"{level} with {turns} turns")
    # The categories that fit the task: those of its name, if it has one, else those of its tools.
    named = {_TASK_WORDS[word] for word in (task["task"] if task else "").split() if word in _TASK_WORDS}
    used = {TOOLS.get(call.tool, "") for turn in record.turns for call in turn.calls}
    own = {CATEGORIES[entity] for entity in named or used if entity in CATEGORIES}
    category = record.workflow_category
    if own and category == "General":
        if len(own) == 1:
            yield Finding(kind=FindingKind.GENERAL_CATEGORY, text=f"{category} instead of {next(iter(own))}")
    elif own and category not in {*own, "Unknown"}:
        yield Finding(kind=FindingKind.WRONG_CATEGORY, text=f"{category} instead of {' or '.join(sorted(own))}")
