"""What is odd about one case: nobody is kept from passing it, but somebody should know."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_crmeval.conversations.dataset.defects import placeholders, texts_in
from pytest_crmeval.conversations.dataset.entities import CATEGORIES, TOOLS
from pytest_crmeval.conversations.dataset.findings import Finding, Kind, shown
from pytest_crmeval.conversations.dataset.knowledge import ID, Knowledge, untold, walk
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord
from pytest_crmeval.domain.calls import ARGUMENT_ALIASES, writes
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.references import REFERENCE
from pytest_crmeval.domain.state import TABLES

_TASK = re.compile(r"SKEL-(?P<task>[A-Z ]+)_(?P<level>simple|medium|complex)_")
_TASK_WORDS = {
    **{name.upper(): name for name in CATEGORIES},
    **{f"{name.upper()}S": name for name in CATEGORIES},
    "COMPANIES": "Company",
    "OPPORTUNITIES": "Opportunity",
}
_LEVELS = {"simple": range(1, 4), "medium": range(4, 7), "complex": range(7, 11)}
_TOOL_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_FILLERS = re.compile(
    r"\b(?:search|find|show|list|get|give|look|up|see|display|me|us|for|all|every|any|the|our|my|a|an|of|what|which|do|we"
    r"|have|are|there|i|want|need|to|can|could|you|please|clients?|contacts?|opportunit(?:y|ies)|deals?|quotes?"
    r"|contracts?|compan(?:y|ies))\b|\W",
    re.IGNORECASE,
)
"""What is left of a bare search when these are taken away: nothing."""
_NAMED_FIELDS: Mapping[str, re.Pattern[str]] = {
    "stage": re.compile(r"\b(?:in|at|by|with) (?:the )?stage\b", re.IGNORECASE),
    "status": re.compile(r"\b(?:in|by|with) (?:the )?status\b", re.IGNORECASE),
    "first_name": re.compile(r"\bfirst name\b", re.IGNORECASE),
    "last_name": re.compile(r"\b(?:last|family) name\b", re.IGNORECASE),
    "email": re.compile(r"\b(?:by|with) (?:the )?e-?mail\b", re.IGNORECASE),
    "owner": re.compile(r"\bowned by\b|\bby owner\b", re.IGNORECASE),
}
"""How a user names the field that he wants to search by."""


def irregularities(record: ConversationRecord, *, lists_references: bool) -> Iterator[Finding]:
    """Yield what is odd; ``lists_references``: whether the line claims to say which turns refer to which."""
    yield from _labels(record)
    told = _told(record)
    for turn in record.turns:
        for kind, text in (*_of_words(turn), *_of_response(turn, told)):
            yield Finding(kind=kind, turn=turn.turn_id, text=text)
        if lists_references and (left_out := _referred(turn) - set(turn.references_previous_turns)):
            text = f"turns {sorted(left_out)} are left out of {turn.references_previous_turns}"
            yield Finding(kind=Kind.UNLISTED_REFERENCE, turn=turn.turn_id, text=text)
    changed: set[str] = set()
    for turn, call, knowledge in walk(record):
        for kind, text in _of_call(turn, call, knowledge, changed) if turn.expect_success else ():
            yield Finding(kind=kind, turn=turn.turn_id, text=text)
        if writes(call.tool):
            changed.add(TOOLS.get(call.tool, ""))


def _of_words(turn: TurnRecord) -> Iterator[tuple[Kind, str]]:
    said = turn.user_utterance
    if references := [match[0] for match in REFERENCE.finditer(said)]:
        yield Kind.REFERENCE_IN_UTTERANCE, f"{', '.join(references)} in {shown(said)}"
    if names := [name for name in _TOOL_NAME.findall(said) if name in TOOLS]:
        yield Kind.TOOL_NAME_SAID, f"{names[0]} in {shown(said)}"
    for call in turn.calls:
        for alias in ARGUMENT_ALIASES.get(call.tool, {}):
            if alias in call.arguments:
                yield Kind.ALIASED_ARGUMENT, f"{call.tool}.{alias}"


def _of_call(turn: TurnRecord, call: ToolCall, knowledge: Knowledge, changed: set[str]) -> Iterator[tuple[Kind, str]]:
    yield from _of_search(turn, call, knowledge)
    if call.tool.startswith("modify_") and _changes_nothing(call, knowledge, changed):
        yield Kind.NO_OP, f"{call.tool} {shown(dict(call.arguments))}"


def _of_search(turn: TurnRecord, call: ToolCall, knowledge: Knowledge) -> Iterator[tuple[Kind, str]]:
    if writes(call.tool):
        return
    said = turn.user_utterance
    filters = [f"{name}={shown(value)}" for name, value in call.arguments.items() if not name.endswith(("_id", "_ids"))]
    if filters and not _FILLERS.sub("", said):
        yield Kind.BARE_SEARCH, f"{', '.join(filters)} for {shown(said)}"
    elif unsaid := [f"{name}={shown(value)}" for name, value in untold(turn, call, knowledge)]:
        yield Kind.UNSAID_FILTER, f"{', '.join(unsaid)} for {shown(said)}"
    if call.tool.endswith("_search") and call.arguments and not turn.further_calls:  # whose words, then?
        for field, named in _NAMED_FIELDS.items():
            if field not in call.arguments and named.search(said):
                yield Kind.CONTRADICTED_FILTER, f"{shown(said)} filters by {', '.join(call.arguments)}"
    if call.tool == "company_search" and not knowledge.rows["Company"]:
        yield Kind.NOTHING_TO_FIND, "company_search, but there is no company"
    if call.tool == "quote_prefixes" and not _any_prefix(knowledge):
        yield Kind.NOTHING_TO_FIND, "quote_prefixes, but no quote has a prefix"


def _any_prefix(knowledge: Knowledge) -> bool:
    return any(row.get("quote_prefix") for row in (*knowledge.rows["Quote"].values(), *knowledge.seen()))


def _changes_nothing(call: ToolCall, knowledge: Knowledge, changed: set[str]) -> bool:
    """Whether a record that nobody has touched already is what it is to become."""
    entity = TOOLS.get(call.tool, "")
    if entity not in TABLES or entity in changed:
        return False
    key = TABLES[entity][1]
    row = _row(str(call.arguments.get(key, "")), key, knowledge.rows[entity])
    changes = {name: value for name, value in call.arguments.items() if name != key}
    return bool(row and changes) and all(name in row and row[name] == value for name, value in changes.items())


def _row(identity: str, key: str, rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the seeded row with an id; a reference can only mean the only one."""
    reference = REFERENCE.fullmatch(identity)
    if reference and reference[2] == key and len(rows) == 1:
        return next(iter(rows.values()))
    return rows.get(identity.lower(), {})


_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?")
_NULL = re.compile(r"\bnull\b")


def _of_response(turn: TurnRecord, told: str) -> Iterator[tuple[Kind, str]]:
    text = turn.expected_response.text if turn.expected_response else ""
    if stale := [stamp for stamp in _TIMESTAMP.findall(text) if stamp.lower() not in told]:
        yield Kind.STALE_TIMESTAMP, stale[0]
    if foreign := [each for each in ID.findall(text) if each.lower() not in told]:
        yield Kind.FOREIGN_ID, foreign[0]
    if unresolved := [*(match[0] for match in REFERENCE.finditer(text)), *placeholders(text)]:
        yield Kind.UNRESOLVED_RESPONSE, f"{', '.join(unresolved)} in {shown(text)}"
    if _NULL.search(text) and "null" not in told:
        yield Kind.NULL_NAME, shown(text)


UNTRUE = (Kind.STALE_TIMESTAMP, Kind.FOREIGN_ID, Kind.UNRESOLVED_RESPONSE)
"""What keeps a truthful agent from saying an expected response to the letter."""


def _told(record: ConversationRecord) -> str:
    """Return all that the conversation itself says, in small letters: utterances, arguments, rows."""
    seed = record.initial_entities.seed_data
    rows = [row for entity in TABLES for row in getattr(seed, entity.lower()).items()]
    parts = [str(record.now or "")]
    for identity, row in rows:
        parts += (str(identity), *texts_in(row))
    for turn in record.turns:
        parts += (turn.user_utterance, *_texts_of(turn))
    return "\n".join(parts).lower()


def _referred(turn: TurnRecord) -> set[int]:
    """Return the earlier turns that a turn refers to."""
    found = {int(match[1]) for text in _texts_of(turn) for match in REFERENCE.finditer(text)}
    return found - {turn.turn_id}


def _texts_of(turn: TurnRecord) -> Iterator[str]:
    return (text for call in turn.calls for text in texts_in(call.arguments))


def _labels(record: ConversationRecord) -> Iterator[Finding]:
    level, turns = record.complexity_level, len(record.turns)
    task = _TASK.match(record.conversation_id)
    if task and task["level"] != level:
        yield Finding(kind=Kind.LABEL_NOT_LEVEL, text=f"complexity_level is {level}")
    fits = turns in _LEVELS[level] or bool(record.chain_id and turns > _LEVELS[level][-1])
    if not fits:
        yield Finding(kind=Kind.LEVEL_NOT_TURNS, text=f"{level} with {turns} turns")
    category = record.workflow_category
    own = _categories(task["task"] if task else "", record)
    if own and category == "General":
        if len(own) == 1:
            yield Finding(kind=Kind.GENERAL_CATEGORY, text=f"{category} instead of {next(iter(own))}")
    elif own and category not in {*own, "Unknown"}:
        yield Finding(kind=Kind.WRONG_CATEGORY, text=f"{category} instead of {' or '.join(sorted(own))}")


def _categories(task: str, record: ConversationRecord) -> set[str]:
    """Return the categories that go with a task: those of its name, if it has one, else those of its tools."""
    named = {_TASK_WORDS[word] for word in task.split() if word in _TASK_WORDS}
    used = {TOOLS.get(call.tool, "") for turn in record.turns for call in turn.calls}
    return {CATEGORIES[entity] for entity in named or used if entity in CATEGORIES}
