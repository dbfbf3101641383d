"""A hard conversation as a record."""

from collections.abc import Sequence
from typing import Any

import msgspec

from pytest_crmeval.conversations.dataset.crm_schema import CATEGORIES, TOOLS
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.generator.hard.request import Call, Request
from pytest_crmeval.conversations.generator.hard.writer import Written
from pytest_crmeval.domain.state import TABLES

_MEDIUM = 6
"""The most turns of a conversation of medium complexity."""


def recorded(written: Written) -> ConversationRecord:
    """Return a written conversation as a record."""
    said = zip(written.requests, written.texts, written.reactions, strict=True)
    turns = [_turn(number, *each) for number, each in enumerate(said, start=1)]
    entities = [TOOLS[tool] for request in written.requests for tool, _ in request.calls if TOOLS.get(tool)]
    refused = [turn["turn_id"] for turn in turns if not turn["expect_success"]]
    plain = {
        "conversation_id": f"hard-{written.plan.number:04}",
        "workflow_category": CATEGORIES[max(sorted(set(entities)), key=entities.count)],
        "complexity_level": "medium" if len(turns) <= _MEDIUM else "complex",
        "initial_entities": {
            "seed_data": {entity: written.scene.world.seed.get(entity, {}) for entity in TABLES},
        },
        "turns": turns,
        "contains_failure": bool(refused),
        "failure_turn": refused[0] if refused else None,
        "now": written.now.isoformat(),
        "tags": sorted(written.tags),
        "split": written.plan.split,
        "policy": written.policy,
        "page_size": 20,
        "trouble": [
            {"turn": number, **trouble}
            for number, request in enumerate(written.requests, start=1)
            for trouble in request.trouble
        ],
    }
    return msgspec.convert(plain, ConversationRecord)


def _turn(number: int, request: Request, text: str, reactions: Sequence[str]) -> dict[str, Any]:
    first, *further = _called(request.calls) or [{"expected_tool": "", "expected_args": {}}]
    if_written, if_not_asked = reactions
    facts = request.facts
    if facts is not None:
        here = "{{here.", f"{{{{turn_{number}."
        facts = [fact.replace(*here) if isinstance(fact, str) else fact for fact in facts]
    return {
        "turn_id": number,
        "user_utterance": text,
        **first,
        "expect_success": not (request.error or request.declined),
        "expected_error_substring": request.error or None,
        "failure_category": "refusal" if request.error else "policy" if request.declined else None,
        "reply_asks": request.asks,
        "further_calls": further,
        "reply_facts": facts,
        "if_written": if_written,
        "if_not_asked": if_not_asked,
        "mistakes": {name: _called(calls) for name, calls in request.mistakes.items()},
    }


def _called(calls: Sequence[Call]) -> list[dict[str, Any]]:
    return [{"expected_tool": tool, "expected_args": arguments} for tool, arguments in calls]
