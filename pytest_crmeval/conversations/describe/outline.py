"""The outline of one conversation: the data that the distribution needs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from pytest_crmeval.conversations.dataset.defects import texts_in
from pytest_crmeval.conversations.dataset.knowledge import ID
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord
from pytest_crmeval.conversations.describe.searches import turns_that_find_nothing
from pytest_crmeval.conversations.describe.similarity import Signature, signature
from pytest_crmeval.conversations.references import REFERENCE
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm_calls import canonical

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
class Outline:
    """The data of one conversation that the distribution needs."""

    id: str
    complexity: str
    category: str
    split: str
    tags: Sequence[str]
    now: datetime | None
    segments: int
    """Of a chain; 0 if it is not a chain."""
    signature: Signature
    main: Sequence[str]
    """The first tool of each turn; empty if the turn expects no call."""
    further: Sequence[str]
    behaviours: Sequence[frozenset[str]]
    """Of each turn, what is right instead of carrying out the request; empty for ordinary turns."""
    ways: Sequence[str]
    """How the user refers to the record, for each turn about an existing record."""
    rows: Mapping[str, int]
    """Entity -> number of rows that the CRM starts with."""
    names: frozenset[tuple[str, str]]
    """Kind and name of the companies, people and deals that are seeded or created, and of owners."""

    @property
    def turns(self) -> int:
        """The number of turns."""
        return len(self.main)


def outline(record: ConversationRecord) -> Outline:
    """Return the outline of a conversation."""
    tables = msgspec.structs.asdict(record.initial_entities.seed_data)
    return Outline(
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
            _behaviours(turn, nothing)
            for turn, nothing in zip(record.turns, turns_that_find_nothing(record), strict=True)
        ),
        ways=tuple(_ways(record)),
        rows={entity: len(tables[entity.lower()]) for entity in TABLES},
        names=frozenset(_names(record)),
    )


def _behaviours(turn: TurnRecord, finds_nothing: bool) -> frozenset[str]:  # noqa: FBT001 (private)
    holds = {
        REFUSAL: bool(turn.expected_tool) and not turn.expect_success,
        QUESTION: turn.reply_asks,
        NOTHING: finds_nothing,
        NO_CALL: not turn.expected_tool,
    }
    return frozenset(behaviour for behaviour in BEHAVIOURS if holds[behaviour])


def _ways(record: ConversationRecord) -> Iterator[str]:
    """Yield how the user refers to the record, for each turn about an existing record."""
    met: set[str] = set()
    for turn in record.turns:
        values = (value for call in map(canonical, turn.calls) for value in texts_in(dict(call.arguments)))
        ids = {text for text in values if ID.fullmatch(text) or REFERENCE.fullmatch(text)}
        if ids:
            said = ID.search(turn.user_utterance) or REFERENCE.search(turn.user_utterance)
            known = all(text in met or REFERENCE.fullmatch(text) for text in ids)
            yield SAID if said else SHOWN if known else LOOKED_UP
        met |= ids


def _names(record: ConversationRecord) -> Iterator[tuple[str, str]]:
    seed = record.initial_entities.seed_data
    rows: list[tuple[str, Mapping[str, object]]] = []
    for entity in ("client", "company", "contact", "opportunity"):
        rows += ((entity, row) for row in getattr(seed, entity).values())
    for turn in record.turns:
        calls = map(canonical, turn.calls if turn.expect_success else ())
        rows += ((_CREATED[call.tool], call.arguments) for call in calls if call.tool in _CREATED)
    for entity, row in rows:
        if isinstance(owner := row.get("owner"), str):
            yield OWNERS, owner
        if entity == "contact":
            yield PEOPLE, f"{row.get('first_name', '')} {row.get('last_name', '')}".strip()
        elif isinstance(name := row.get("name"), str):
            yield (DEALS if entity == "opportunity" else COMPANIES), name
