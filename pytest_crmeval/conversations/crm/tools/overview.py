"""What there is, by table."""

from psycopg import sql

from pytest_crmeval.conversations.crm.tools.entities import ENTITIES, Entity
from pytest_crmeval.conversations.crm.tools.registry import Entry, Taken
from pytest_crmeval.conversations.crm.tools.world import World
from pytest_crmeval.domain.messages import ToolResult

_COUNTS = sql.SQL("SELECT {}").format(
    sql.SQL(", ").join(
        sql.SQL("(SELECT count(*) FROM {})").format(sql.Identifier(entity.table)) for entity in ENTITIES.values()
    )
)


def summarize_counts(world: World, taken: Taken) -> ToolResult:
    """Count the rows of every table."""
    del taken
    (counts,) = world.query(_COUNTS)
    return ToolResult(value=dict(zip((entity.table for entity in ENTITIES.values()), counts, strict=True)))


def _listing(entity: Entity) -> Entry:
    def list_rows(world: World, taken: Taken) -> ToolResult:
        rows, note = world.rows(entity, taken)
        return ToolResult(value={row[entity.key]: row for row in rows}, note=note)

    return Entry(name=f"list_{entity.table}", description=f"List all {entity.table}, by id.", handler=list_rows)


ENTRIES = (
    *map(_listing, ENTITIES.values()),
    Entry(
        name="summarize_counts",
        description="Count what the CRM holds: clients, contacts, opportunities and so on.",
        handler=summarize_counts,
    ),
)
