"""One line of a conversation file, field by field: the published format and what we add to it."""

from datetime import datetime
from itertools import chain
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.trouble import Trouble

Scalar = str | int | float | bool
_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"\S")]
_Whole = Annotated[int, msgspec.Meta(ge=1)]


class FileObject(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An object of the file; unknown fields are refused, because a misspelt field would be ignored."""


class ExpectedResponse(FileObject):
    """What the published format says about the reply."""

    text: str = ""
    evaluation: str = "structured"
    answers: list[str] = []
    requires_judge: bool = False


class CallRecord(FileObject):
    """A further call of a turn."""

    expected_tool: str
    expected_args: dict[str, Any] = {}


class TurnRecord(FileObject):
    """One turn as written in a file."""

    turn_id: int
    expected_tool: str
    user_utterance: str = ""
    expected_args: dict[str, Any] = {}
    references_previous_turns: list[int] = []
    expect_success: bool = True
    expected_error_substring: str | None = None
    failure_category: str | None = None
    expected_response: ExpectedResponse | None = None
    reply_facts: Annotated[
        list[Scalar] | None,
        msgspec.Meta(description="Added to CL-Bench's format: the facts that the reply must contain."),
    ] = None
    implied_args: Annotated[
        list[str],
        msgspec.Meta(description="Added: arguments that the words imply without saying them; lint accepts them."),
    ] = []

    reply_asks: Annotated[
        bool, msgspec.Meta(description="Added: whether the reply must ask a clarifying question.")
    ] = False
    further_calls: Annotated[
        list[CallRecord],
        msgspec.Meta(description="Added: further calls for the same turn; all of them must succeed."),
    ] = []
    if_written: Annotated[
        str,
        msgspec.Meta(description="Added: said instead if the agent has changed something in the turn before."),
    ] = ""
    if_not_asked: Annotated[
        str, msgspec.Meta(description="Added: said instead if the agent has asked nothing in the turn before.")
    ] = ""
    mistakes: Annotated[
        dict[str, list[CallRecord]],
        msgspec.Meta(description="Added: typical mistake -> the calls of an agent that makes it in this turn."),
    ] = {}

    @property
    def calls(self) -> list[ToolCall]:
        """All expected calls, in order; none if ``expected_tool`` is empty."""
        first = ToolCall(tool=self.expected_tool, arguments=self.expected_args)
        rest = [ToolCall(tool=each.expected_tool, arguments=each.expected_args) for each in self.further_calls]
        return [first, *rest] if self.expected_tool else []


Rows = dict[str, dict[str, Any]]
_DIGITS = bytes.maketrans(b"0123456789abcdef", b"0" * 16)
_ID_LINE = f"{UUID(int=0)}\n".encode()


class SeedData(FileObject, rename="pascal"):
    """Rows by entity and id; ids are UUIDs."""

    client: Rows = {}
    company: Rows = {}
    contact: Rows = {}
    opportunity: Rows = {}
    quote: Rows = {}
    contract: Rows = {}
    document: Rows = {}
    note: Rows = {}

    def __post_init__(self) -> None:
        """Check all ids at once by their shape, which is faster than a UUID object for each; rewrite unusual forms."""
        tables = [getattr(self, name) for name in self.__struct_fields__]
        ids = [*chain(*tables)]
        if "\n".join([*ids, ""]).encode().translate(_DIGITS) == _ID_LINE * len(ids):
            return
        for name, given, table in zip(self.__struct_fields__, self.__struct_encode_fields__, tables, strict=True):
            rows = {_usual_form(identity, given): row for identity, row in table.items()}
            setattr(self, name, rows)


def _usual_form(identity: str, entity: str) -> str:
    """Return an id as a UUID in lower case with hyphens."""
    try:
        return str(msgspec.convert(identity, UUID))
    except msgspec.ValidationError:
        raise ValueError(f"{entity}: {identity!r} is not a UUID") from None


class SeedTable(FileObject):
    """Rows of one entity without repeating the names of their columns; the first column is the id."""

    columns: Annotated[list[str], msgspec.Meta(min_length=1)]
    rows: list[list[Any]]

    def by_id(self) -> Rows:
        """Return the rows by id, without empty columns."""
        names = self.columns[1:]
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"each row needs {len(self.columns)} values, one per column")
        return {
            str(row[0]): {name: value for name, value in zip(names, row[1:], strict=True) if value is not None}
            for row in self.rows
        }


class InitialEntities(FileObject):
    """What the CRM holds at the start; both forms can be combined."""

    seed_data: SeedData = msgspec.field(default_factory=SeedData)
    seed_tables: Annotated[
        dict[str, SeedTable], msgspec.Meta(description="Added: entity -> its rows as a table, for many rows.")
    ] = {}

    def __post_init__(self) -> None:
        """Add the tables to ``seed_data``, so that both forms of a case are the same case."""
        if not self.seed_tables:
            return
        fields = dict(zip(self.seed_data.__struct_encode_fields__, self.seed_data.__struct_fields__, strict=True))
        if unknown := sorted(self.seed_tables.keys() - fields.keys()):
            raise ValueError(f"seed_tables: unknown entity {unknown[0]!r}; entities: {', '.join(fields)}")
        rows = {fields[entity]: table.by_id() for entity, table in self.seed_tables.items()}
        for name in fields.values():
            rows[name] = {**getattr(self.seed_data, name), **rows.get(name, {})}
        self.seed_data, self.seed_tables = SeedData(**rows), {}


StateRows = list[dict[str, Any]]


class ExpectedState(FileObject, rename="pascal"):
    """Rows at the end, by entity; an entity that is left out ends as the reference calls leave it."""

    client: StateRows | None = None
    company: StateRows | None = None
    contact: StateRows | None = None
    opportunity: StateRows | None = None
    quote: StateRows | None = None
    contract: StateRows | None = None
    document: StateRows | None = None
    note: StateRows | None = None


class SegmentSummary(msgspec.Struct):
    """What a chain says about one of its segments; the generator's extras are passed over."""

    expected_outcome: Literal["success", "failure"] = "success"
    segment_number: int | None = None
    segment_id: int | None = None


class CumulativeContext(msgspec.Struct):
    """What a chain says about itself; the generator's extras are passed over."""

    segment_summaries: list[SegmentSummary] = []


class UserRecord(FileObject):
    """A simulated user."""

    goal: Annotated[str, msgspec.Meta(min_length=1, pattern=r"\S", description="What the user wants to have done.")]
    facts: Annotated[list[str], msgspec.Meta(description="What the user knows: all values that it may say.")] = []
    style: Annotated[str, msgspec.Meta(description="How the user talks.")] = ""

    @property
    def words(self) -> str:
        """All that the user knows."""
        return "\n".join([self.goal, *self.facts])


class ConversationRecord(FileObject):
    """One line of a file."""

    conversation_id: _Id
    turns: Annotated[list[TurnRecord], msgspec.Meta(min_length=1)]
    workflow_category: str = "Unknown"
    complexity_level: Literal["simple", "medium", "complex"] = "simple"
    initial_entities: InitialEntities = msgspec.field(default_factory=InitialEntities)
    final_expected_state: dict[str, Any] = {}
    success_criteria: Literal["all_turns", "final_state", "both"] = "all_turns"
    contains_failure: bool = False
    failure_turn: int | None = None
    verification_mode: Literal["database", "runtime_response", "unknown"] = "database"
    chain_id: str | None = None
    segment_number: int | None = None
    segment_boundaries: list[_Whole] | None = None
    expected_outcome: str | None = None
    cumulative_context: CumulativeContext = msgspec.field(default_factory=CumulativeContext)
    now: (
        Annotated[datetime, msgspec.Meta(tz=True, description="Added: the clock of the CRM, which its rules use.")]
        | None
    ) = None
    tags: Annotated[list[str], msgspec.Meta(description="Added: labels for selection and reports.")] = []
    split: Annotated[
        Literal["train", "test"] | None,
        msgspec.Meta(description="Added: whether agents that learn may learn from the case, or are tested with it."),
    ] = None
    expected_state: Annotated[
        ExpectedState | None,
        msgspec.Meta(description="Added: exactly the rows that an entity has at the end, in the given columns."),
    ] = None
    user: Annotated[
        UserRecord | None,
        msgspec.Meta(description="Added: a user that a model plays; the turns then have no utterances."),
    ] = None
    policy: Annotated[
        str, msgspec.Meta(description="Added: rules of the company, which become part of the agent's instructions.")
    ] = ""
    page_size: Annotated[
        int,
        msgspec.Meta(ge=0, description="Added: rows that a search shows at a time; 0: the CRM has no pages."),
    ] = 0
    trouble: Annotated[
        list[Trouble], msgspec.Meta(description="Added: outages, locked records, and changes by other users.")
    ] = []
