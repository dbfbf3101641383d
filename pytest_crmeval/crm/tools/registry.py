"""What a tool is made of: typed arguments, a description, a handler."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, LiteralString, TypeVar

import msgspec
import psycopg
from psycopg import sql

from pytest_crmeval.domain.json import Json, printable
from pytest_crmeval.domain.messages import Tool, ToolError
from pytest_crmeval.domain.state import TABLES

Connection = psycopg.Connection[Any]
Text = Annotated[str, msgspec.Meta(pattern=r"\S")]
Email = Annotated[str, msgspec.Meta(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$", description="an e-mail address")]
Amount = Annotated[float, msgspec.Meta(gt=0, le=10_000_000)]
Probability = Annotated[int, msgspec.Meta(ge=1, le=99, description="percent")]
ROW_CAP = 50

Kind = Literal["not_found", "invalid_argument", "conflict", "refused_by_rule", "unknown_tool"]


class Refusal(Exception):  # noqa: N818 (a refusal is an answer, not an error of ours)
    """A tool says no; the agent is told why."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.error = ToolError(kind=kind, message=message)


class Arguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Typed arguments of a tool: nothing unknown, nothing unchecked reaches SQL."""

    def given(self) -> dict[str, Any]:
        """Return the arguments that were really given, by name."""
        values = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: value for name, value in values if value is not None}


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


@dataclass(frozen=True, kw_only=True)
class Entry(Generic[ArgumentsT]):
    """A tool as the registry holds it."""

    tool: Tool
    arguments: type[ArgumentsT]
    handler: Callable[[Connection, ArgumentsT], Json]

    def run(self, connection: Connection, arguments: Mapping[str, Json]) -> Json:
        """Check the arguments, then act."""
        try:
            typed = msgspec.convert(arguments, self.arguments)
            return self.handler(connection, typed)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:  # half a surrogate pair is no text
            raise Refusal("invalid_argument", printable(str(error))) from error


def entry(
    handler: Callable[[Connection, ArgumentsT], Json], arguments: type[ArgumentsT], description: str
) -> Entry[ArgumentsT]:
    """Describe one tool; its name is the handler's."""
    (schema,), components = msgspec.json.schema_components([arguments])
    parameters = components[arguments.__name__] if "$ref" in schema else schema
    tool = Tool(name=handler.__name__, description=description, parameters=parameters)
    return Entry(tool=tool, arguments=arguments, handler=handler)


def search(connection: Connection, table: str, order: LiteralString, filters: Mapping[str, Any]) -> Json:
    """Return the rows that match every filter: text by substring in any case, the rest by equality.

    ``order`` must leave nothing open, on any server: the first row is what later turns refer to.
    """
    conditions = [_condition(column, value) for column, value in filters.items()]
    where = sql.SQL(" AND ").join(conditions) if conditions else sql.SQL("true")
    query = sql.SQL("SELECT to_jsonb(t) FROM {} t WHERE {} ORDER BY {} LIMIT {}").format(
        sql.Identifier(table), where, sql.SQL(order), sql.Literal(ROW_CAP)
    )
    return [row[0] for row in connection.execute(query, list(filters.values()))]


def insert(connection: Connection, table: str, values: Mapping[str, Any]) -> Json:
    """Write one row and return it."""
    query = sql.SQL("INSERT INTO {} AS t ({}) VALUES ({}) RETURNING to_jsonb(t)").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, values)),
        sql.SQL(", ").join(sql.Placeholder() for _ in values),
    )
    return _one(connection, query, list(values.values()))


def update(connection: Connection, entity: str, row_id: str, values: Mapping[str, Any]) -> Json:
    """Change one row and return it."""
    table, key = TABLES[entity]
    query = sql.SQL("UPDATE {} AS t SET {} WHERE {} = %s RETURNING to_jsonb(t)").format(
        sql.Identifier(table),
        sql.SQL(", ").join(sql.SQL("{} = %s").format(sql.Identifier(column)) for column in values),
        sql.Identifier(key),
    )
    return _one(connection, query, [*values.values(), row_id])


def find(connection: Connection, entity: str, row_id: str) -> Mapping[str, Json]:
    """Return one row, or refuse."""
    table, key = TABLES[entity]
    query = sql.SQL("SELECT to_jsonb(t) FROM {} t WHERE {}::text = lower(%s)").format(
        sql.Identifier(table), sql.Identifier(key)
    )
    row = connection.execute(query, [row_id]).fetchone()
    if row is None:
        raise Refusal("not_found", f"{entity} not found with ID '{row_id}'.")
    found: Mapping[str, Json] = row[0]
    return found


def _condition(column: str, value: object) -> sql.Composed:
    # position() and not LIKE: % and _ in what the user said are letters like any other.
    text = isinstance(value, str) and not column.endswith("_id") and column not in {"stage", "status"}
    pattern = "position(lower(%s) in lower({})) > 0" if text else "lower({}::text) = lower(%s)"
    return sql.SQL(pattern).format(sql.Identifier(column))


def _one(connection: Connection, query: sql.Composed, values: Sequence[Any]) -> Json:
    row = connection.execute(query, values).fetchone()
    if row is None:
        raise psycopg.InterfaceError("a write returned no row")
    written: Json = row[0]
    return written
