"""A case after the oracle has played it: what is known about its turns and can be varied."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_crmeval.conversations.scorers.facts import facts_of
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.turns import Played, turns_of
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Tool, ToolCall
from pytest_crmeval.domain.state import TABLES, Row
from pytest_crmeval.ports.crm_calls import canonical, writes
from pytest_crmeval.ports.scorer import Evidence

ENTITIES: Mapping[str, str] = {key: entity for entity, (_, key) in TABLES.items()}
"""Primary key -> entity."""
NAMES: Mapping[str, Sequence[str]] = {
    "client_id": ("name",),
    "company_id": ("name",),
    "contact_id": ("first_name", "last_name"),
    "opportunity_id": ("name",),
}
"""Primary key -> the column with the name; other entities have none."""
_SORTS: Mapping[str, str] = {
    "date": "date",
    "date-time": "moment",
    "uuid": "id",
    "email": "email",
    "number": "number",
    "integer": "number",
    "array": "list",
}
"""Format or type in a JSON Schema -> type of value; text if it is not listed."""


class Rehearsal:
    """One case, the oracle's trial of it, and the tools."""

    def __init__(self, case: Conversation, evidence: Evidence, tools: Sequence[Tool]) -> None:
        self.case = case
        self.evidence = evidence
        self.turns: Sequence[Played] = tuple(turns_of(case, evidence))
        self.seeded = frozenset(row_id for rows in case.seed.values() for row_id in rows)
        self._schemas = {tool.name: tool.parameters for tool in tools}

    @property
    def parts(self) -> Iterator[Played]:
        """The turns with calls; a turn with several requests occurs once per request."""
        return (part for turn in self.turns for part in turn.parts if not part.calls_nothing)

    @property
    def reads(self) -> Iterator[Played]:
        """The parts that read, and succeed."""
        return (part for part in self.parts if part.made is not None and not part.writes)

    @property
    def writes(self) -> Iterator[Played]:
        """The parts that change something, and succeed; not those without any effect."""
        return (part for part in self.parts if part.made is not None and part.writes and not self._is_there(part))

    @property
    def refusals(self) -> Iterator[Played]:
        """The parts that are refused, as the case expects."""
        return (part for part in self.parts if part.made is None and not part.expectation.succeeds)

    @property
    def several(self) -> Iterator[Played]:
        """The turns with several requests."""
        return (turn for turn in self.turns if turn.expectation.further)

    @property
    def outside(self) -> Iterator[Played]:
        """The turns with requests that the CRM can't fulfil."""
        return (turn for turn in self.turns if turn.calls_nothing and not turn.expectation.asks)

    @property
    def questions(self) -> Iterator[Played]:
        """The turns in which the agent must ask the user."""
        return (turn for turn in self.turns if turn.expectation.asks)

    def parameters(self, tool: str) -> Mapping[str, Mapping[str, Json]]:
        """Return the arguments that a tool takes, each with its JSON Schema."""
        found = self._schemas.get(tool, {}).get("properties")
        schemas = found if isinstance(found, Mapping) else {}
        return {name: schema for name, schema in schemas.items() if isinstance(schema, Mapping)}

    def required(self, tool: str) -> Sequence[str]:
        """Return the required arguments of a tool."""
        found = self._schemas.get(tool, {}).get("required")
        return [str(name) for name in found] if isinstance(found, Sequence) else []

    def choices(self, tool: str, name: str) -> Sequence[Json]:
        """Return the allowed values of an argument, if they are listed."""
        found = self.parameters(tool).get(name, {}).get("enum")
        return found if isinstance(found, Sequence) else ()

    def arguments(self, turn: Played, *sorts: str) -> Iterator[tuple[str, Json]]:
        """Yield the arguments of a turn's call that have one of some types, as in the case."""
        schemas = self.parameters(turn.expected.tool)
        for name, value in template(turn).arguments.items():
            if name in schemas and sort_of(name, schemas[name]) in sorts:
                yield name, value

    def survivors(self, entity: str) -> Iterator[tuple[str, Row]]:
        """Yield the seeded rows of an entity that still exist at the end, with their ids."""
        table, key = TABLES.get(entity, ("", ""))
        for row in self.evidence.after.get(table, ()):
            if str(row[key]) in self.seeded:
                yield str(row[key]), row

    def is_idle(self, turn: Played) -> bool:
        """Whether a turn changes a row to values that it already has."""
        before, after = self.row_before(turn), turn.made.value if turn.made else None
        return before is not None and before == after

    def row_before(self, turn: Played) -> Row | None:
        """Return the row that a turn changes, before the change; None if the turn changes none."""
        key = next((name for name in turn.expected.arguments if name in ENTITIES), "")
        if not turn.expected.tool.startswith(("modify_", "cancel_")) or not key:
            return None
        rows = list(self.evidence.reference.before.get(TABLES[ENTITIES[key]][0], ()))
        before = [pair for earlier in self.turns[: turn.number - 1] for pair in earlier.calls]
        for _, result in (*before, *turn.calls[: turn.place]):
            rows += [row for row in rows_in(result.value) if key_of(row) == key]
        return next((row for row in reversed(rows) if row[key] == turn.expected.arguments[key]), None)

    def _is_there(self, turn: Played) -> bool:
        """Whether a client with the e-mail address exists, so that ``ensure_client`` ignores all other arguments."""
        made = turn.made.value if turn.made else None
        known = [row for rows in self.evidence.reference.before.values() for row in rows]
        return turn.expected.tool == "ensure_client" and made in known


def template(turn: Played) -> ToolCall:
    """Return the call of a turn in canonical form, with unresolved references."""
    return canonical(turn.expectation.call)


def entity_named(turn: Played, name: str) -> str:
    """Return the entity whose id an argument contains; empty if it is unknown."""
    return str(turn.expected.arguments.get("entity_type")) if name == "entity_id" else ENTITIES.get(name, "")


def sort_of(name: str, schema: Mapping[str, Json]) -> str:
    """Return the type of an argument: choice, date, moment, id, email, number, list, file, text."""
    if "enum" in schema or name == "file_name":
        return "choice" if "enum" in schema else "file"
    return _SORTS.get(str(schema.get("format"))) or _SORTS.get(str(schema.get("type"))) or "text"


def key_of(row: Row) -> str:
    """Return the primary key of a row: if it has several ids, the last in the order of references; empty if none."""
    return next((key for key in reversed(list(ENTITIES)) if key in row), "")


def name_of(row: Row) -> str:
    """Return the name of a row; empty if it has none."""
    return " ".join(str(row[column]) for column in NAMES.get(key_of(row), ()))


def searches(turn: Played) -> bool:
    """Whether the call of a turn takes filters."""
    return turn.expected.tool.endswith("_search") or turn.expected.tool == "summarize_opportunities"


def stated_facts(turn: Played) -> list[Json]:
    """Return the facts that the reply to a turn, or to a part of it, must state."""
    found = (facts_of(part.expectation, part.expected.tool, part.wanted, part.outputs) for part in turn.parts)
    return [fact for facts in found for fact in facts]


def plain(parts: Iterable[Played]) -> Iterator[Played]:
    """Yield the parts whose reply is about nothing else, and asks no question."""
    return (part for part in parts if not part.whole.further and not part.whole.asks)


def own_call(turn: Played) -> Sequence[ToolCall]:
    """Return the reference call of a turn, if there is one."""
    return turn.expectation.calls[:1]


def is_seen_beside(part: Played) -> bool:
    """Whether other reads of the turn show the result of a part as well."""
    others = [pair for place, pair in enumerate(part.exchange.calls) if place != part.place and part.whole.further]
    rows = [row for call, result in others if not writes(call.tool) for row in rows_in(result.value)]
    return bool(others) and not part.writes and all(row in rows for row in rows_in(part.wanted))
