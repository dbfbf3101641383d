"""What a tool is made of: a name, a description, arguments with their kinds, a handler."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from pytest_crmeval.conversations.crm.tools.entities import Entity
from pytest_crmeval.conversations.crm.tools.kinds import ID, Kind, invalid
from pytest_crmeval.conversations.crm.tools.world import World
from pytest_crmeval.domain.cutting import cut, printable
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Tool, ToolResult

Taken = Mapping[str, Any]
"""Arguments after they were checked: typed, nothing unknown, nothing that was not given."""
Handler = Callable[[World, Taken], ToolResult]
SHOWN = 80


def shown(name: object) -> str:
    """Return a name that somebody made up, fit to be told."""
    return printable(cut(name, SHOWN, "")) if isinstance(name, str) else type(name).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A tool as the registry holds it."""

    name: str
    description: str
    handler: Handler
    required: Mapping[str, Kind] = field(default_factory=dict)
    optional: Mapping[str, Kind] = field(default_factory=dict)
    filters: bool = False
    """Whether the arguments are looked for rather than written."""
    changes: Entity | None = None
    """The entity that the arguments change, if they do."""

    @property
    def tool(self) -> Tool:
        """The tool as an agent sees it."""
        kinds = {**self.required, **self.optional}
        schemas = {name: kind.filter_schema if self.filters else kind.schema for name, kind in kinds.items()}
        schema: Mapping[str, Json] = {
            "type": "object",
            "properties": {name: deepcopy(dict(schema)) for name, schema in schemas.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }
        return Tool(name=self.name, description=self.description, parameters=schema)

    def take(self, arguments: Mapping[str, Json]) -> Taken:
        """Return the arguments typed, or refuse them; those of a canonical call, where null is not given."""
        if not isinstance(arguments, Mapping):
            raise invalid(f"{self.name} takes an object of arguments.")
        self._refuse_unknown(arguments)
        missing = [name for name in self.required if name not in arguments]
        if missing:
            raise invalid(f"{self.name} needs {', '.join(missing)}.")
        kinds = {**self.required, **self.optional}
        # In the order of the columns: the same question is the same SQL, however it was put.
        taken = {name: self._taken(kind, name, arguments[name]) for name, kind in kinds.items() if name in arguments}
        return {name: value for name, value in taken.items() if value is not None}

    def _taken(self, kind: Kind, name: str, value: object) -> Any:  # noqa: ANN401 (as the kind has it)
        take = kind.seek if self.filters else kind.take
        return take(name.replace("_", " ").capitalize(), value)

    def _refuse_unknown(self, arguments: Mapping[str, Json]) -> None:
        known = [*self.required, *self.optional]
        unknown = [name for name in arguments if name not in known]
        if not unknown:
            return
        name = shown(unknown[0])
        if self.changes is None:
            raise invalid(f"{self.name} has no argument '{name}'; it takes: {', '.join(known) or 'none'}.")
        if name in self.changes.columns:
            raise invalid(f"Unsupported {self.changes.name.lower()} fields for update: ['{name}'].")
        raise invalid(f"{self.changes.name} has no field named '{name}'. It has: {', '.join(self.optional)}.")


def searching(entity: Entity, description: str) -> Entry:
    """Describe a search: every column is a filter."""

    def search(world: World, filters: Taken) -> ToolResult:
        return world.search(entity, filters)

    return Entry(
        name=f"{entity.name.lower()}_search",
        description=description,
        handler=search,
        optional=entity.columns,
        filters=True,
    )


def changing(entity: Entity, description: str, handler: Callable[[World, dict[str, Any], Taken], ToolResult]) -> Entry:
    """Describe a modification; the handler gets the row and the changes."""

    def change(world: World, taken: Taken) -> ToolResult:
        changes = {name: value for name, value in taken.items() if name != entity.key}
        return handler(world, world.find(entity.name, taken[entity.key]), changes)

    return Entry(
        name=f"modify_{entity.name.lower()}",
        description=description,
        handler=change,
        required={entity.key: ID},
        optional=entity.kinds(*entity.changeable),
        changes=entity,
    )
