"""One conversation in outline: what a distribution needs to know of it, and no more."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from pytest_crmeval.conversations.dataset.knowledge import ID, leaves
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord
from pytest_crmeval.conversations.describe.likeness import Signature, signature
from pytest_crmeval.conversations.describe.searches import calls_of, turns_in_vain
from pytest_crmeval.domain.references import REFERENCE
from pytest_crmeval.domain.state import TABLES

REFUSAL, QUESTION, NOTHING, NO_CALL = "refusal", "question", "nothing_to_find", "no_call"
BEHAVIOURS = (REFUSAL, QUESTION, NOTHING, NO_CALL)
SAID, SHOWN, LOOKED_UP = "said", "shown", "looked_up"
WAYS = (SAID, SHOWN, LOOKED_UP)
COMPANIES, PEOPLE, DEALS, OWNERS = "companies", "people", "deals", "owners"
NAMED = (COMPANIES, PEOPLE, DEALS, OWNERS)
_CREATED = {
    "create_new_client": "client",
    "ensure_client": "client",
    "create_new_contact": "contact",
    "create_new_opportunity": "opportunity",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """A conversation in outline."""

    id: str
    complexity: str
    category: str
    split: str
    tags: Sequence[str]
    now: datetime | None
    segments: int
    """Of a chain; 0 if it is none."""
    signature: Signature
    main: Sequence[str]
    """The tools of its turns; empty where there is nothing to call."""
    further: Sequence[str]
    behaviours: Sequence[frozenset[str]]
    """Of each turn, what is right other than to do as told."""
    ways: Sequence[str]
    """How a record is referred to, of each turn that is about one that is there."""
    rows: Mapping[str, int]
    """Entity -> how many rows the CRM starts with."""
    names: frozenset[tuple[str, str]]
    """Companies, people and deals that are seeded or created, and owners: kind and name."""

    @property
    def turns(self) -> int:
        """How many there are."""
        return len(self.main)


def sketch(record: ConversationRecord) -> Sketch:
    """Return a conversation in outline."""
    tables = msgspec.structs.asdict(record.initial_entities.seed_data)
    return Sketch(
        id=record.conversation_id,
        complexity=record.complexity_level,
        category=record.workflow_category,
        split=record.split or "",
        tags=tuple(dict.fromkeys(record.tags)),
        now=record.now,
        segments=len(record.segment_boundaries or ()) if record.chain_id else 0,
        signature=signature(record),
        main=tuple(turn.expected_tool for turn in record.turns),
        further=tuple(call.expected_tool for turn in record.turns for call in turn.further_calls),
        behaviours=tuple(
            _behaviours(turn, vain) for turn, vain in zip(record.turns, turns_in_vain(record), strict=True)
        ),
        ways=tuple(_ways(record)),
        rows={entity: len(tables[entity.lower()]) for entity in TABLES},
        names=frozenset(_names(record)),
    )


def _behaviours(turn: TurnRecord, vain: bool) -> frozenset[str]:  # noqa: FBT001 (one of each turn)
    holds = {
        REFUSAL: bool(turn.expected_tool) and not turn.expect_success,
        QUESTION: turn.reply_asks,
        NOTHING: vain,
        NO_CALL: not turn.expected_tool,
    }
    return frozenset(behaviour for behaviour in BEHAVIOURS if holds[behaviour])


def _ways(record: ConversationRecord) -> Iterator[str]:
    """Yield how the records that a turn is about are referred to, of each turn that is about one."""
    met: set[str] = set()
    for turn in record.turns:
        ids = {text for text in _texts(turn) if ID.fullmatch(text) or REFERENCE.fullmatch(text)}
        if ids:
            said = ID.search(turn.user_utterance) or REFERENCE.search(turn.user_utterance)
            known = all(text in met or REFERENCE.fullmatch(text) for text in ids)
            yield SAID if said else SHOWN if known else LOOKED_UP
        met |= ids


def _texts(turn: TurnRecord) -> Iterator[str]:
    """Yield every text among the arguments of a turn."""
    values = (value for call in calls_of(turn) for _, value in leaves("", dict(call.arguments)))
    return (value for value in values if isinstance(value, str))


def _names(record: ConversationRecord) -> Iterator[tuple[str, str]]:
    for entity, row in _rows(record):
        if isinstance(owner := row.get("owner"), str):
            yield OWNERS, owner
        if entity == "contact":
            yield PEOPLE, f"{row.get('first_name', '')} {row.get('last_name', '')}".strip()
        elif isinstance(name := row.get("name"), str):
            yield (DEALS if entity == "opportunity" else COMPANIES), name


def _rows(record: ConversationRecord) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the rows that are named: those that are seeded, and those that are created."""
    seed = record.initial_entities.seed_data
    for entity in ("client", "company", "contact", "opportunity"):
        yield from ((entity, row) for row in getattr(seed, entity).values())
    for turn in record.turns:
        if turn.expect_success:
            yield from ((_CREATED[call.tool], call.arguments) for call in calls_of(turn) if call.tool in _CREATED)
