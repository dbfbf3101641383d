"""The rows that a case starts with, checked one by one, because cases are written by hand."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pytest_crmeval.conversations.crm.tools.entities import ENTITIES, Entity
from pytest_crmeval.conversations.crm.tools.value_types import RefusedCall
from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.json import Json
from pytest_crmeval.ports.crm import SeedError

_LINKS = (("client_id", "Client"), ("opportunity_id", "Opportunity"))


def seed_rows(seed: Seed, now: datetime) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table, complete and typed; SeedError names the wrong row and attribute."""
    if unknown := sorted(seed.keys() - ENTITIES.keys()):
        raise SeedError(f"seed_data.{unknown[0]}: unknown entity; entities: {', '.join(ENTITIES)}")
    tables = {}
    ids: dict[str, set[str]] = {}
    for name, entity in ENTITIES.items():
        rows = [_row(entity, row_id, given, now) for row_id, given in seed.get(name, {}).items()]
        ids[name] = {row[entity.key] for row in rows}
        for row in rows:
            for column, target in (*_LINKS, ("entity_id", row.get("entity_type"))):
                linked = row.get(column) if column != entity.key else None
                if linked is not None and target is not None and linked not in ids[target]:
                    place = f"seed_data.{entity.name}.{row[entity.key]}.{column}"
                    raise SeedError(f"{place}: no {target} has the id {linked}")
        if rows:
            tables[entity.table] = rows
    return tables


def _row(entity: Entity, row_id: str, given: Mapping[str, Json], now: datetime) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(entity.columns)
    for name, value in {**entity.defaults, **given, entity.key: row_id}.items():
        if value is None:
            row[name] = entity.defaults.get(name)
            continue
        column = entity.columns.get(name)
        if column is None:
            known = ", ".join(entity.columns)
            raise SeedError(f"seed_data.{entity.name}.{row_id}.{name}: unknown attribute; attributes: {known}")
        try:
            row[name] = column.parse_seed(name, value)
        except RefusedCall as refusal:
            raise SeedError(f"seed_data.{entity.name}.{row_id}.{name}: {refusal}") from None
    for name in entity.required:
        if row[name] is None:
            raise SeedError(f"seed_data.{entity.name}.{row_id}.{name}: is missing")
        if isinstance(row[name], str) and not row[name].strip():
            raise SeedError(f"seed_data.{entity.name}.{row_id}.{name}: is blank")
    if entity.clock and row[entity.clock] is None:
        row[entity.clock] = now
    return row
