"""The tools that agents can call, by name."""

from collections.abc import Mapping

from psycopg import sql

from pytest_crmeval.conversations.crm.tools import clients, documents, opportunities
from pytest_crmeval.conversations.crm.tools.definition import Arguments, ToolDefinition, shown
from pytest_crmeval.conversations.crm.tools.entities import ENTITIES, Entity
from pytest_crmeval.conversations.crm.tools.session import CrmSession
from pytest_crmeval.conversations.crm.tools.value_types import RefusedCall, invalid
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.ports.crm_calls import canonical

_COUNTS = sql.SQL("SELECT {}").format(
    sql.SQL(", ").join(
        sql.SQL("(SELECT count(*) FROM {})").format(sql.Identifier(entity.table)) for entity in ENTITIES.values()
    )
)


def summarize_counts(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Count the rows of every table."""
    del arguments
    (counts,) = session.query(_COUNTS)
    return ToolResult(value=dict(zip((entity.table for entity in ENTITIES.values()), counts, strict=True)))


def _list_tool(entity: Entity) -> ToolDefinition:
    def list_rows(session: CrmSession, arguments: Arguments) -> ToolResult:
        rows, note = session.rows(entity, arguments)
        return ToolResult(value={row[entity.key]: row for row in rows}, note=note)

    description = f"List all {entity.table}, by id."
    return ToolDefinition(name=f"list_{entity.table}", description=description, handler=list_rows, lists=True)


TOOLS: Mapping[str, ToolDefinition] = {
    definition.name: definition
    for definition in (
        *clients.DEFINITIONS,
        *opportunities.DEFINITIONS,
        *documents.DEFINITIONS,
        *map(_list_tool, ENTITIES.values()),
        ToolDefinition(
            name="summarize_counts",
            description="Count the records in the CRM: clients, contacts, opportunities and so on.",
            handler=summarize_counts,
        ),
    )
}


TOOLS_WITH_PAGES: Mapping[str, ToolDefinition] = {name: tool.in_pages() for name, tool in TOOLS.items()}
"""The tools of a CRM that shows long lists in pages."""


def run(session: CrmSession, call: ToolCall) -> ToolResult:
    """Run a call, or raise a RefusedCall. All arguments are checked before any SQL is run."""
    definition, arguments = _checked(call, TOOLS_WITH_PAGES if session.page_size else TOOLS)
    return definition.handler(session, arguments)


def check(call: ToolCall) -> str:
    """Return what is wrong with a call regardless of the rows in the CRM; empty if it is valid."""
    try:
        _checked(call, TOOLS_WITH_PAGES)
    except RefusedCall as refusal:
        return refusal.error.message
    return ""


def _checked(call: ToolCall, tools: Mapping[str, ToolDefinition]) -> tuple[ToolDefinition, Arguments]:
    definition = tools.get(call.tool) if isinstance(call.tool, str) else None
    if definition is None:
        known = ", ".join(sorted(tools))
        raise RefusedCall("unknown_tool", f"There is no tool '{shown(call.tool)}'; the tools are: {known}.")
    arguments = definition.parse(canonical(call).arguments)
    if definition.changes:
        key, updates = definition.changes.key, call.arguments.get("updates")
        if arguments.keys() == {key} and updates != {}:  # V12
            raise invalid("Must provide either updates dict or keyword args")
        if isinstance(updates, Mapping) and str(updates.get(key, arguments[key])).lower() != arguments[key].lower():
            raise invalid(f"Unsupported fields for update: ['{key}'].")
    return definition, arguments
