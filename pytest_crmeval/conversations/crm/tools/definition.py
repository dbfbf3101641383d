"""The definition of a tool: its name, description, typed arguments and handler."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_crmeval.conversations.crm.tools.entities import Entity
from pytest_crmeval.conversations.crm.tools.session import CrmSession
from pytest_crmeval.conversations.crm.tools.value_types import CURSOR, ID, ValueType, invalid
from pytest_crmeval.domain.cutting import cut, printable
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Tool, ToolResult

Arguments = Mapping[str, Any]
"""Arguments after validation: only known names, typed values, and no null."""
Handler = Callable[[CrmSession, Arguments], ToolResult]
SHOWN = 80
IN_PAGES = (
    "Long results come in pages: a note states which rows these are and how many there are in total. For the next "
    "page, make the same call with the cursor in the note."
)


def shown(name: object) -> str:
    """Return a name that the agent made up, in a form that can be printed in a message."""
    return printable(cut(name, SHOWN, "")) if isinstance(name, str) else type(name).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool of the CRM."""

    name: str
    description: str
    handler: Handler
    required: Mapping[str, ValueType] = field(default_factory=dict)
    optional: Mapping[str, ValueType] = field(default_factory=dict)
    filters: bool = False
    """Whether the arguments are search filters, not values to be written."""
    changes: Entity | None = None
    """The entity that a ``modify_`` tool changes."""
    lists: bool = False
    """Whether the result is a list of rows, which may have pages."""

    @property
    def tool(self) -> Tool:
        """The tool as an agent sees it."""
        types = {**self.required, **self.optional}
        schemas = {name: each.filter_schema if self.filters else each.schema for name, each in types.items()}
        schema: Mapping[str, Json] = {
            "type": "object",
            "properties": {name: deepcopy(dict(schema)) for name, schema in schemas.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }
        return Tool(name=self.name, description=self.description, parameters=schema)

    def in_pages(self) -> "ToolDefinition":
        """Return the tool of a CRM that shows long lists in pages."""
        if not self.lists:
            return self
        description = f"{self.description} {IN_PAGES}"
        return replace(self, description=description, optional={**self.optional, "cursor": CURSOR})

    def parse(self, given: Mapping[str, Json]) -> Arguments:
        """Return the arguments of a canonical call typed, or raise a RefusedCall; null counts as not given."""
        if not isinstance(given, Mapping):
            raise invalid(f"{self.name} takes an object of arguments.")
        types = {**self.required, **self.optional}
        if unknown := [name for name in given if name not in types]:
            raise invalid(self._unknown(shown(unknown[0]), ", ".join(types)))
        if missing := [name for name in self.required if name not in given]:
            raise invalid(f"{self.name} needs {', '.join(missing)}.")
        arguments = {}
        for name, each in types.items():  # in the order of the columns, so that equal searches are the same SQL
            if name in given:
                parse = each.parse_filter if self.filters else each.parse
                arguments[name] = parse(name.replace("_", " ").capitalize(), given[name])
        return {name: value for name, value in arguments.items() if value is not None}

    def _unknown(self, name: str, known: str) -> str:
        if self.changes is None:
            return f"{self.name} has no argument '{name}'; it takes: {known or 'none'}."
        if name in self.changes.columns:
            return f"Unsupported {self.changes.name.lower()} fields for update: ['{name}']."
        return f"{self.changes.name} has no field named '{name}'. It has: {', '.join(self.optional)}."


def search_tool(entity: Entity, description: str) -> ToolDefinition:
    """Define the search for an entity: every column is a filter."""

    def search(session: CrmSession, filters: Arguments) -> ToolResult:
        rows, note = session.rows(entity, filters)
        return ToolResult(value=rows, note=note)

    return ToolDefinition(
        name=f"{entity.name.lower()}_search",
        description=description,
        handler=search,
        optional=entity.columns,
        filters=True,
        lists=True,
    )


def modify_tool(
    entity: Entity, description: str, handler: Callable[[CrmSession, dict[str, Any], Arguments], ToolResult]
) -> ToolDefinition:
    """Define the modification of an entity; the handler receives the row and the changes."""

    def modify(session: CrmSession, arguments: Arguments) -> ToolResult:
        changes = {name: value for name, value in arguments.items() if name != entity.key}
        return handler(session, session.find(entity.name, arguments[entity.key]), changes)

    return ToolDefinition(
        name=f"modify_{entity.name.lower()}",
        description=description,
        handler=modify,
        required={entity.key: ID},
        optional=entity.types(*entity.changeable),
        changes=entity,
    )
