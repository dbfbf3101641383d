"""Types of values: what a tool accepts, how its JSON Schema describes that, and how a search filters by it."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, LiteralString
from uuid import UUID

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ErrorKind, ToolError

SUBSTRING: LiteralString = "position(lower(%s) in lower({})) > 0"
"""Not LIKE: % and _ are ordinary characters in a filter."""
EQUAL: LiteralString = "{} = %s"
MAX_AMOUNT = Decimal(10_000_000)
LIMIT = Decimal(10) ** 12
"""The limit of numeric(14, 2)."""
EMAIL_LENGTH = 320
EXTENSIONS = ("csv", "doc", "docx", "key", "pdf", "ppt", "pptx", "txt", "xlsx")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
"""fromisoformat alone also takes 20270305 and 2027-W09-5."""
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_FILE_NAME = re.compile(r"[A-Za-z0-9._-]+")
_AFTER = re.compile(r"after-(\d{1,9})")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class RefusedCall(Exception):  # noqa: N818 (a refusal is an answer to the agent, not an error of the harness)
    """The CRM refuses a call; the agent receives the reason."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.error = ToolError(kind=kind, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueType:
    """A type of value. The parsing functions take its label and the value, and return it typed or refuse it."""

    schema: Mapping[str, Json]
    parse: Callable[[str, object], Any]
    """For a value that an agent writes."""
    filter_schema: Mapping[str, Json]
    parse_filter: Callable[[str, object], Any]
    """For a search; None means no filter."""
    condition: LiteralString = EQUAL
    parse_seed: Callable[[str, object], Any]
    """For a seeded row, which may hold values that an agent may not write."""


def invalid(message: str) -> RefusedCall:
    """Return the refusal of an argument."""
    return RefusedCall("invalid_argument", message)


def string(label: str, value: object) -> str:
    """Return any text that the database can hold."""
    if not isinstance(value, str):
        raise invalid(f"{label} must be provided as a string.")
    if _UNSTORABLE.search(value):
        raise invalid(f"{label} must be text: it holds a NUL character or half a surrogate pair.")
    return value


def text(label: str, value: object) -> str:
    """Return text that is not blank, without the space around it (V1)."""
    trimmed = string(label, value).strip()
    if not trimmed:
        raise invalid(f"{label} must not be blank or whitespace.")
    return trimmed


def _text_filter(label: str, value: object) -> str | None:
    return string(label, value).strip() or None


def _email(label: str, value: object) -> str:
    trimmed = text(label, value)
    if not _EMAIL.fullmatch(trimmed) or len(trimmed) > EMAIL_LENGTH:
        raise invalid(f"Invalid email format: {cut(trimmed, EMAIL_LENGTH, '')}")
    return trimmed


def _any_number(label: str, value: object) -> int | float:
    """Return a number; bool, a subclass of int, is refused."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise invalid(f"{label} must be numeric.")


def _number(label: str, value: object) -> Decimal:
    number = _any_number(label, value)
    if isinstance(number, int) and abs(number) < LIMIT:
        return Decimal(number)  # the common case
    if abs(number) >= LIMIT or abs(cents := Decimal(str(number)).quantize(Decimal("0.01"))) >= LIMIT:
        raise invalid(f"{label} is too large.")
    return cents


def _positive(label: str, value: object) -> Decimal:
    if _any_number(label, value) <= 0 or not (number := _number(label, value)):
        raise invalid(f"{label} must be greater than zero.")
    return number


def _amount(label: str, value: object) -> Decimal:
    if _any_number(label, value) > MAX_AMOUNT:
        raise invalid(f"{label} must not exceed {MAX_AMOUNT:,}.")
    return _positive(label, value)


def _probability(label: str, value: object) -> int:
    number = _any_number(label, value)
    if number != int(number):
        raise invalid(f"{label} must be a whole-number percentage.")
    if not 1 <= number <= 99:  # noqa: PLR2004 (V4)
        raise invalid(f"{label} must be between 1 and 99.")
    return int(number)


def _number_filter(label: str, value: object) -> float:
    number = _any_number(label, value)
    return float(number) if abs(number) < LIMIT else math.inf


def _day(label: str, value: object) -> date:
    wrong = invalid(f"{label} must be a valid ISO-8601 date (YYYY-MM-DD).")
    try:
        given = text(label, value)
        moment = datetime.fromisoformat(given)
    except (ValueError, RefusedCall):
        raise wrong from None
    if not _DAY.match(given) or moment.time() != time():
        raise wrong
    return moment.date()


def _moment(label: str, value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(text(label, value))
    except (ValueError, RefusedCall):
        raise invalid(f"{label} must be a valid ISO-8601 timestamp (YYYY-MM-DDTHH:MM:SS+00:00).") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _file_name(label: str, value: object) -> str:
    name = text(label, value)
    _, dot, extension = name.rpartition(".")
    if not _FILE_NAME.fullmatch(name) or not dot or extension.lower() not in EXTENSIONS:
        raise invalid(
            f"{label} must consist of letters, digits, '.', '_' and '-' and end with one of: {', '.join(EXTENSIONS)}."
        )
    return name


def uuid(value: str) -> UUID | None:
    """Return an id in the form that searches return; None for anything else, also for other forms of a UUID."""
    return UUID(value) if _ID.fullmatch(value) else None


def _id_filter(label: str, value: object) -> UUID:
    found = uuid(text(label, value))
    if found is None:
        raise invalid(f"{label} must be an id, such as a search returns.")
    return found


def _id_seed(label: str, value: object) -> str:
    """Return an id as text, which takes less time than a UUID."""
    if isinstance(value, str) and _ID.fullmatch(value):
        return value.lower()
    return str(_id_filter(label, value))


def _cursor(label: str, value: object) -> int:
    found = _AFTER.fullmatch(text(label, value))
    if not found:
        raise invalid(f"{label} must be taken from the note of the previous page, for example 'after-20'.")
    return int(found[1])


def _texts(label: str, value: object) -> list[str]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise invalid(f"{label} must be a list of strings.")
    return [text(label, item) for item in value]


_TEXT_FILTER: Mapping[str, Json] = {"type": "string", "description": "matches any part of the value, ignoring case"}
_TEXT_SCHEMA: Mapping[str, Json] = {"type": "string", "pattern": r"\S"}
_MONEY = "in the currency of the company, without sign or separators"
_NUMBER_SCHEMA: Mapping[str, Json] = {"type": "number"}
_DAY_SCHEMA: Mapping[str, Json] = {"type": "string", "format": "date", "description": "YYYY-MM-DD"}
_ID_SCHEMA: Mapping[str, Json] = {"type": "string", "format": "uuid"}
_CURSOR_SCHEMA: Mapping[str, Json] = {
    "type": "string",
    "description": "the cursor in the note of the previous page; omit it for the first page",
}


def _searchable(schema: Mapping[str, Json], parse: Callable[[str, object], str]) -> ValueType:
    return ValueType(
        schema=schema,
        parse=parse,
        filter_schema=_TEXT_FILTER,
        parse_filter=_text_filter,
        condition=SUBSTRING,
        parse_seed=string,
    )


def _numeric(
    schema: Mapping[str, Json], parse: Callable[[str, object], Any], parse_seed: Callable[[str, object], Any]
) -> ValueType:
    return ValueType(
        schema=schema, parse=parse, filter_schema=_NUMBER_SCHEMA, parse_filter=_number_filter, parse_seed=parse_seed
    )


TEXT = _searchable(_TEXT_SCHEMA, text)
NOTES = _searchable(
    {**_TEXT_SCHEMA, "description": "the notes field of this record; add_note adds a separate note instead"}, text
)
AUTHOR = _searchable({**_TEXT_SCHEMA, "description": "left out unless the user says who it is"}, text)
EMAIL = _searchable({"type": "string", "format": "email"}, _email)
FILE_NAME = _searchable(
    {
        "type": "string",
        "description": f"letters, digits, '.', '_' and '-', ending with one of: {', '.join(EXTENSIONS)}",
    },
    _file_name,
)
AMOUNT = _numeric(
    {"type": "number", "exclusiveMinimum": 0, "maximum": int(MAX_AMOUNT), "description": _MONEY}, _amount, _positive
)
NUMBER = _numeric({"type": "number", "description": _MONEY}, _number, _number)
PROBABILITY = _numeric(
    {"type": "integer", "minimum": 1, "maximum": 99, "description": "percent"}, _probability, _probability
)
DAY = ValueType(schema=_DAY_SCHEMA, parse=_day, filter_schema=_DAY_SCHEMA, parse_filter=_day, parse_seed=_day)
MOMENT = ValueType(
    schema={"type": "string", "format": "date-time"},
    parse=_moment,
    filter_schema={"type": "string", "format": "date-time"},
    parse_filter=_moment,
    parse_seed=_moment,
)
ID = ValueType(schema=_ID_SCHEMA, parse=text, filter_schema=_ID_SCHEMA, parse_filter=_id_filter, parse_seed=_id_seed)
"""The tool reports an id without a row as not found, also if it is not a valid id."""
CURSOR = ValueType(
    schema=_CURSOR_SCHEMA, parse=_cursor, filter_schema=_CURSOR_SCHEMA, parse_filter=_cursor, parse_seed=_cursor
)
TEXTS = ValueType(
    schema={"type": "array", "items": _TEXT_SCHEMA},
    parse=_texts,
    filter_schema=_TEXT_FILTER,
    parse_filter=_text_filter,
    condition="position(lower(%s) in lower(array_to_string({}, ', '))) > 0",
    parse_seed=_texts,
)


def choice(*values: str) -> ValueType:
    """Return the type of a value that must be exactly one of ``values`` (V2)."""
    known = ", ".join(sorted(values))

    def parse(label: str, value: object) -> str:
        if not isinstance(value, str) or value not in values:
            raise invalid(f"{label} must be one of: {known}.")
        return value

    schema: Mapping[str, Json] = {"type": "string", "enum": list(values)}
    return ValueType(schema=schema, parse=parse, filter_schema=schema, parse_filter=parse, parse_seed=parse)
