"""The rows that a case starts with, checked one by one, because cases are written by hand."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pytest_crmeval.conversations.crm.tools.entities import ENTITIES, Entity
from pytest_crmeval.conversations.crm.tools.value_types import Refusal
from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.json import Json
from pytest_crmeval.ports.crm import SeedError

_LINKS = {"client_id": "Client", "opportunity_id": "Opportunity"}


def seed_rows(seed: Seed, now: datetime) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table, complete and typed; SeedError names the wrong row and attribute."""
    if unknown := sorted(seed.keys() - ENTITIES.keys()):
        raise SeedError(f"seed_data.{unknown[0]}: unknown entity; entities: {', '.join(ENTITIES)}")
    tables = {}
    for name, entity in ENTITIES.items():
        rows = [_row(entity, row_id, given, now) for row_id, given in seed.get(name, {}).items()]
        for row in rows:
            links = {**_LINKS, "entity_id": row.get("entity_type")}
            for column, target in links.items():
                if column == entity.key or row.get(column) is None or target is None:
                    continue
                if row[column] not in {UUID(row_id) for row_id in seed.get(target, {})}:
                    place = f"seed_data.{entity.name}.{row[entity.key]}.{column}"
                    raise SeedError(f"{place}: no {target} has the id {row[column]}")
        if rows:
            tables[entity.table] = rows
    return tables


def _row(entity: Entity, row_id: str, given: Mapping[str, Json], now: datetime) -> dict[str, Any]:
    where = f"seed_data.{entity.name}.{row_id}"
    given = {name: value for name, value in given.items() if value is not None}
    given = {**entity.defaults, **given, entity.key: row_id}
    if missing := [name for name in entity.required if name not in given]:
        raise SeedError(f"{where}.{missing[0]}: is missing")
    if unknown := sorted(given.keys() - entity.columns.keys()):
        raise SeedError(f"{where}.{unknown[0]}: unknown attribute; attributes: {', '.join(entity.columns)}")
    row: dict[str, Any] = {}
    for name, column in entity.columns.items():
        value = given.get(name)
        try:
            row[name] = None if value is None else column.parse_seed(name, value)
        except Refusal as refusal:
            raise SeedError(f"{where}.{name}: {refusal}") from None
        if name in entity.required and isinstance(row[name], str) and not row[name].strip():
            raise SeedError(f"{where}.{name}: is blank")
    if entity.clock and row[entity.clock] is None:
        row[entity.clock] = now
    return row
