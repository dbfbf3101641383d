"""A written conversation as a line of a file."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from pytest_crmeval.conversations.dataset.entities import CATEGORIES, TOOLS
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.generator.authoring import Author, WrittenTurn
from pytest_crmeval.conversations.generator.intents import Intent
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.domain.calls import writes
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.state import TABLES

_WORDS = {"Opportunity": "deal"}
_FAILURES = ("refusal", "clarification", "absence", "out-of-scope")
_FIRST = ("conversation_id", "workflow_category", "complexity_level", "split", "tags", "now")
"""What a person wants to see of a line."""
_DEEDS = {
    "create_": "creation",
    "ensure_": "creation",
    "clone_": "creation",
    "modify_": "update",
    "cancel_": "update",
    "delete_": "deletion",
    "add_note": "note",
    "upload_": "document",
}
"""How a tool begins -> what is said of a conversation in which it was called."""
SEVERAL = 2


def line_of(record: ConversationRecord) -> str:
    """Return a conversation as it stands in a file: the same letters for the same content."""
    plain = msgspec.to_builtins(record, str_keys=True)
    if "cumulative_context" in plain:
        plain["cumulative_context"] = _without_none(plain["cumulative_context"])
    ordered = {name: plain[name] for name in _FIRST if name in plain} | {"complexity_level": record.complexity_level}
    return json.dumps(ordered | plain, ensure_ascii=False, separators=(",", ":")) + "\n"


def recorded(author: Author, story: Story) -> ConversationRecord:
    """Return what an author has written as a record."""
    shape = author.shape
    turns = [_turn(number, turn) for number, turn in enumerate(author.turns, start=1)]
    calls = [intent.tool for turn in author.turns for intent in turn.intents]
    entity = _entity(shape.theme, calls)
    word = _WORDS.get(entity, entity.lower())
    name = f"chain-{word}" if shape.is_chain else word
    refused = [turn["turn_id"] for turn in turns if not turn.get("expect_success", True)]
    plain: dict[str, Any] = {
        "conversation_id": f"{name}-{shape.level}-{shape.number:04}",
        "workflow_category": CATEGORIES[entity],
        "complexity_level": shape.level,
        "initial_entities": {"seed_data": {entity: story.world.seed.get(entity, {}) for entity in TABLES}},
        "turns": turns,
        "contains_failure": bool(refused),
        "failure_turn": refused[0] if refused else None,
        "now": story.now.isoformat(),
        "tags": sorted((author.tags - {*_DEEDS.values()}) | _deeds(author.turns)),
        "split": shape.split,
    }
    if shape.is_chain:
        plain |= _chain(author, turns)
    return msgspec.convert(plain, ConversationRecord)


def _deeds(turns: Sequence[WrittenTurn]) -> set[str]:
    """Return what a conversation writes, as tags: only what the CRM lets happen counts."""
    done = [intent.tool for turn in turns for intent in turn.intents if writes(intent.tool) and not intent.error]
    tags = {tag for tool in done for start, tag in _DEEDS.items() if tool.startswith(start)}
    return tags | ({"multi-write"} if len(done) >= SEVERAL else set())


def _entity(theme: str, calls: Sequence[str]) -> str:
    """Return what a conversation is about: its theme, if it came to that, else what is talked of most."""
    entities = [TOOLS[tool] for tool in calls if TOOLS.get(tool)]
    if theme in entities or not entities:
        return theme
    return max(sorted(set(entities)), key=entities.count)


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
    facts = _facts(turn.intents)
    return plain if facts is None else {**plain, "reply_facts": facts}


def _facts(intents: Sequence[Intent]) -> list[Json] | None:
    told = [intent.facts for intent in intents if intent.facts is not None]
    return [fact for facts in told for fact in facts] if told else None


def _chain(author: Author, turns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    boundaries = [sum(author.shape.segments[:place]) for place in range(1, len(author.shape.segments) + 1)]
    starts = [0, *boundaries[:-1]]
    outcomes = [
        "success" if all(turn["expect_success"] for turn in turns[start:end]) else "failure"
        for start, end in zip(starts, boundaries, strict=True)
    ]
    summaries = [
        {"segment_number": number, "expected_outcome": outcome} for number, outcome in enumerate(outcomes, start=1)
    ]
    return {
        "chain_id": f"chain-{author.shape.number:04}",
        "segment_boundaries": boundaries,
        "cumulative_context": {"segment_summaries": summaries},
    }


def _without_none(value: Any) -> Any:  # noqa: ANN401 (JSON)
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value
