"""A generated conversation as a line of a file."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pytest_crmeval.conversations.dataset.crm_schema import CATEGORIES, TOOLS
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.conversations.generator.writer import ConversationWriter, WrittenTurn
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm_calls import writes

_WORDS = {"Opportunity": "deal"}
_FAILURES = ("refusal", "clarification", "absence", "out-of-scope")
_FIRST = ("conversation_id", "workflow_category", "complexity_level", "split", "tags", "now")
"""The fields that come first in a line, for human readers."""
_ACTIONS = {
    "create_": "creation",
    "ensure_": "creation",
    "clone_": "creation",
    "modify_": "update",
    "cancel_": "update",
    "delete_": "deletion",
    "add_note": "note",
    "upload_": "document",
}
"""Prefix of a tool -> tag of a conversation in which it is called."""
SEVERAL = 2


def line_of(record: ConversationRecord) -> str:
    """Return a conversation as a line of JSON; the same content gives the same bytes."""
    plain = msgspec.to_builtins(record, str_keys=True)
    if "cumulative_context" in plain:
        plain["cumulative_context"] = _without_none(plain["cumulative_context"])
    if record.page_size:  # there are many rows
        plain["initial_entities"] = {"seed_tables": _tables(plain["initial_entities"]["seed_data"])}
    ordered = {name: plain[name] for name in _FIRST if name in plain} | {"complexity_level": record.complexity_level}
    return json.dumps(ordered | plain, ensure_ascii=False, separators=(",", ":")) + "\n"


def recorded(writer: ConversationWriter, story: Story) -> ConversationRecord:
    """Return a written conversation as a record."""
    shape = writer.shape
    turns = [_turn(number, turn) for number, turn in enumerate(writer.turns, start=1)]
    calls = [intent.tool for turn in writer.turns for intent in turn.intents]
    # The entity that the conversation is about: its theme, if that occurs, else the most frequent one.
    entities = [TOOLS[tool] for tool in calls if TOOLS.get(tool)]
    entity = max(sorted(set(entities)), key=entities.count) if entities and shape.theme not in entities else shape.theme
    word = _WORDS.get(entity, entity.lower())
    name = f"chain-{word}" if shape.is_chain else word
    refused = [turn["turn_id"] for turn in turns if not turn.get("expect_success", True)]
    done = [intent.tool for turn in writer.turns for intent in turn.intents if writes(intent.tool) and not intent.error]
    tags = {tag for tool in done for start, tag in _ACTIONS.items() if tool.startswith(start)}
    tags |= {"multi-write"} if len(done) >= SEVERAL else set()
    plain: dict[str, Any] = {
        "conversation_id": f"{name}-{shape.level}-{shape.number:04}",
        "workflow_category": CATEGORIES[entity],
        "complexity_level": shape.level,
        "initial_entities": {"seed_data": {entity: story.world.seed.get(entity, {}) for entity in TABLES}},
        "turns": turns,
        "contains_failure": bool(refused),
        "failure_turn": refused[0] if refused else None,
        "now": story.now.isoformat(),
        "tags": sorted((writer.tags - {*_ACTIONS.values()}) | tags),
        "split": shape.split,
    }
    if shape.is_chain:
        plain |= _chain(writer, turns)
    return msgspec.convert(plain, ConversationRecord)


def _turn(number: int, turn: WrittenTurn) -> dict[str, Any]:
    first, *further = turn.intents
    plain: dict[str, Any] = {
        "turn_id": number,
        "user_utterance": turn.text,
        "expected_tool": first.tool,
        "expected_args": dict(first.args),
        "expect_success": not (first.error or first.declined),
        "expected_error_substring": first.error or None,
        "failure_category": next(
            (one for one in _FAILURES if any(one in intent.skills for intent in turn.intents)), None
        ),
        "reply_asks": first.asks,
        "implied_args": [name for intent in turn.intents for name in intent.implied],
        "further_calls": [{"expected_tool": intent.tool, "expected_args": dict(intent.args)} for intent in further],
    }
    expected = [intent.facts for intent in turn.intents if intent.facts is not None]
    return {**plain, "reply_facts": [fact for facts in expected for fact in facts]} if expected else plain


def _chain(writer: ConversationWriter, turns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    boundaries = [sum(writer.shape.segments[:place]) for place in range(1, len(writer.shape.segments) + 1)]
    starts = [0, *boundaries[:-1]]
    outcomes = [
        "success" if all(turn["expect_success"] for turn in turns[start:end]) else "failure"
        for start, end in zip(starts, boundaries, strict=True)
    ]
    summaries = [
        {"segment_number": number, "expected_outcome": outcome} for number, outcome in enumerate(outcomes, start=1)
    ]
    return {
        "chain_id": f"chain-{writer.shape.number:04}",
        "segment_boundaries": boundaries,
        "cumulative_context": {"segment_summaries": summaries},
    }


def _tables(rows: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return rows as tables, without the name of each column in each row."""
    found: dict[str, Any] = {}
    for entity, by_id in rows.items():
        names = [*dict.fromkeys(name for row in by_id.values() for name in row)]
        values = [[row_id, *(row.get(name) for name in names)] for row_id, row in by_id.items()]
        found[entity] = {"columns": [TABLES[entity][1], *names], "rows": values}
    return found


def _without_none(value: Any) -> Any:  # noqa: ANN401 (JSON)
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value
