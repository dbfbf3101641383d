"""The records of the CRM while a conversation is being written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_crmeval.domain.state import TABLES

CLOSED = ("Closed-Won", "Closed-Lost")
STAGES = ("Prospecting", "Qualification", "Proposal", "Negotiation")
"""Stages of an open deal, in order."""


@dataclass(slots=True, kw_only=True, eq=False)
class Row:
    """A record in its present state."""

    entity: str
    ref: str
    """Its id, or a reference to the turn that creates it."""
    columns: dict[str, Any]
    seeded: bool = True
    feminine: bool = False
    """Of a person."""
    known_as: str = ""
    """The distinctive part of the name, if it has one."""
    trade: str = ""
    """The industry of a client, whether the CRM knows it or not."""

    def __getitem__(self, column: str) -> Any:  # noqa: ANN401 (JSON)
        """Return the value of a column; None if it has none."""
        return self.columns.get(column)

    @property
    def full_name(self) -> str:
        """The name of a client, company, deal or person."""
        return str(self["name"] or f"{self['first_name']} {self['last_name']}")

    @property
    def is_closed(self) -> bool:
        """Whether a deal is won or lost."""
        return self["stage"] in CLOSED


@dataclass(slots=True, kw_only=True)
class World:
    """All records in their present state, and the seed: those that the CRM starts with."""

    rows: list[Row] = field(default_factory=list)
    seed: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def add_seeded(
        self, entity: str, ref: str, columns: Mapping[str, Any], *, feminine: bool = False, known_as: str = ""
    ) -> Row:
        """Add a record that the CRM starts with."""
        given = {name: value for name, value in columns.items() if value is not None}
        self.seed.setdefault(entity, {})[ref] = dict(given)
        self.rows.append(Row(entity=entity, ref=ref, columns=given, feminine=feminine, known_as=known_as))
        return self.rows[-1]

    def create(
        self, entity: str, turn: int, columns: Mapping[str, Any], *, feminine: bool = False, known_as: str = ""
    ) -> Row:
        """Add a record that a turn creates; later turns refer to it by that turn."""
        ref = f"{{{{turn_{turn}.{TABLES[entity][1]}}}}}"
        row = Row(entity=entity, ref=ref, columns=dict(columns), seeded=False, feminine=feminine, known_as=known_as)
        self.rows.append(row)
        return row

    def remove(self, row: Row) -> None:
        """Remove a record, and with a deal its quotes."""
        self.rows.remove(row)
        for quote in self.of("Quote", opportunity_id=row.ref):
            self.rows.remove(quote)
        for contract in self.of("Contract", opportunity_id=row.ref):
            del contract.columns["opportunity_id"]

    def of(self, entity: str, **columns: Any) -> list[Row]:  # noqa: ANN401 (JSON)
        """Return the records of an entity that have these values."""
        return [
            row
            for row in self.rows
            if row.entity == entity and all(row[name] == value for name, value in columns.items())
        ]

    def has_papers(self, row: Row) -> bool:
        """Whether a record has notes or files, which would be orphaned if it were deleted."""
        papers = (*self.of("Note"), *self.of("Document"))
        return any(paper["entity_id"] == row.ref for paper in papers)

    def row(self, ref: str) -> Row:
        """Return the record with an id."""
        return next(row for row in self.rows if row.ref == ref)

    def client_of(self, row: Row) -> Row:
        """Return the client that a person, deal, quote or contract belongs to."""
        return self.row(row["client_id"] or self.row(row["opportunity_id"])["client_id"])

    def deal_of(self, quote: Row) -> Row:
        """Return the deal that a quote is for."""
        return self.row(quote["opportunity_id"])
