"""The entities of the CRM: their columns with types, and which of these can be changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import LiteralString

from pytest_crmeval.conversations.crm.tools.value_types import (
    AMOUNT,
    AUTHOR,
    DAY,
    EMAIL,
    FILE_NAME,
    ID,
    MOMENT,
    NOTES,
    NUMBER,
    PROBABILITY,
    TEXT,
    TEXTS,
    ValueType,
    choice,
)
from pytest_crmeval.domain.state import TABLES


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A kind of record: one table."""

    name: str
    columns: Mapping[str, ValueType]
    required: Sequence[str]
    """Columns that a seeded row must have."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Values of a seeded row that leaves these columns out."""
    changeable: Sequence[str] = ()
    order: LiteralString
    """A total order, the same on every server: later turns refer to the first row of a search."""
    clock: str | None = None
    """The column with the time at which the row was created."""

    @property
    def table(self) -> str:
        """The table of its rows."""
        return TABLES[self.name][0]

    @property
    def key(self) -> str:
        """The primary key of its rows."""
        return TABLES[self.name][1]

    def types(self, *names: str) -> dict[str, ValueType]:
        """Return some columns with their types."""
        return {name: self.columns[name] for name in names}


STAGES = ("Prospecting", "Qualification", "Proposal", "Negotiation", "Closed-Won", "Closed-Lost")

CLIENT = Entity(
    name="Client",
    columns={
        "client_id": ID,
        "name": TEXT,
        "industry": TEXT,
        "email": EMAIL,
        "phone": TEXT,
        "address": TEXT,
        "status": choice("Active", "Prospect", "Inactive"),
        "created_date": MOMENT,
        "owner": TEXT,
    },
    required=("name",),
    defaults={"status": "Active"},
    changeable=("name", "email", "phone", "address", "industry", "status", "owner"),
    order='name COLLATE "C", client_id',
    clock="created_date",
)
CONTACT = Entity(
    name="Contact",
    columns={
        "contact_id": ID,
        "first_name": TEXT,
        "last_name": TEXT,
        "title": TEXT,
        "email": EMAIL,
        "phone": TEXT,
        "client_id": ID,
        "notes": NOTES,
    },
    required=("first_name", "last_name", "client_id"),
    changeable=("first_name", "last_name", "title", "email", "phone", "notes"),
    order='last_name COLLATE "C", first_name COLLATE "C", contact_id',
)
OPPORTUNITY = Entity(
    name="Opportunity",
    columns={
        "opportunity_id": ID,
        "client_id": ID,
        "name": TEXT,
        "stage": choice(*STAGES),
        "amount": AMOUNT,
        "close_date": DAY,
        "owner": TEXT,
        "probability": PROBABILITY,
        "notes": NOTES,
        "created_at": MOMENT,
    },
    required=("client_id", "name", "amount"),
    defaults={"stage": "Qualification"},
    changeable=("name", "stage", "amount", "close_date", "owner", "probability", "notes"),
    order='name COLLATE "C", opportunity_id',
    clock="created_at",
)
QUOTE = Entity(
    name="Quote",
    columns={
        "quote_id": ID,
        "opportunity_id": ID,
        "version": TEXT,
        "amount": AMOUNT,
        "status": choice("Draft", "Sent", "Approved", "Rejected", "Canceled"),
        "valid_until": DAY,
        "created_date": MOMENT,
        "quote_prefix": TEXT,
    },
    required=("opportunity_id", "amount"),
    defaults={"status": "Draft"},
    changeable=("version", "amount", "status", "valid_until", "quote_prefix"),
    order="amount, quote_id",
    clock="created_date",
)
CONTRACT = Entity(
    name="Contract",
    columns={
        "contract_id": ID,
        "client_id": ID,
        "opportunity_id": ID,
        "start_date": DAY,
        "end_date": DAY,
        "value": NUMBER,
        "status": choice("Active", "Pending", "Expired"),
        "document_url": TEXT,
    },
    required=("client_id",),
    defaults={"status": "Active"},
    order="start_date NULLS LAST, value NULLS LAST, contract_id",
)
COMPANY = Entity(
    name="Company",
    columns={
        "company_id": ID,
        "name": TEXT,
        "type": choice("Partner", "Vendor", "Competitor"),
        "industry": TEXT,
        "address": TEXT,
        "contacts": TEXTS,
    },
    required=("name", "type"),
    order='name COLLATE "C", company_id',
)
DOCUMENT = Entity(
    name="Document",
    columns={
        "document_id": ID,
        "entity_type": choice("Opportunity", "Contract", "Quote", "Client"),
        "entity_id": ID,
        "file_name": FILE_NAME,
        "uploaded_by": AUTHOR,
        "uploaded_at": MOMENT,
        "file_url": TEXT,
    },
    required=("entity_type", "entity_id", "file_name"),
    order='file_name COLLATE "C", document_id',
    clock="uploaded_at",
)
NOTE = Entity(
    name="Note",
    columns={
        "note_id": ID,
        "entity_type": choice("Opportunity", "Client", "Contact", "Quote", "Contract"),
        "entity_id": ID,
        "content": TEXT,
        "created_by": AUTHOR,
        "created_at": MOMENT,
    },
    required=("entity_type", "entity_id", "content"),
    order="created_at, note_id",
    clock="created_at",
)

ENTITIES: Mapping[str, Entity] = {
    entity.name: entity for entity in (CLIENT, COMPANY, CONTACT, OPPORTUNITY, QUOTE, CONTRACT, DOCUMENT, NOTE)
}
"""By name, in an order in which rows come before the rows that refer to them."""
