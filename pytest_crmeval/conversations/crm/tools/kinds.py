"""Kinds of values: what a tool accepts, what its JSON Schema says about it, and how a search looks for it."""

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
"""Not LIKE: % and _ in what the user said are letters like any other."""
EQUAL: LiteralString = "{} = %s"
MOST = Decimal(10_000_000)
ROOM = Decimal(10) ** 12
"""What numeric(14, 2) can hold."""
EMAIL_ROOM = 320
EXTENSIONS = ("csv", "doc", "docx", "key", "pdf", "ppt", "pptx", "txt", "xlsx")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
"""fromisoformat alone also takes 20270305 and 2027-W09-5."""
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_FILE_NAME = re.compile(r"[A-Za-z0-9._-]+")


class Refusal(Exception):  # noqa: N818 (a refusal is an answer, not an error of ours)
    """A tool says no; the agent is told why."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.error = ToolError(kind=kind, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of value. ``take``, ``seek`` and ``plant`` return it typed, or refuse it by its label."""

    schema: Mapping[str, Json]
    take: Callable[[str, object], Any]
    """For a row that an agent writes."""
    filter_schema: Mapping[str, Json]
    seek: Callable[[str, object], Any]
    """For a search; what is None is not looked for."""
    condition: LiteralString = EQUAL
    plant: Callable[[str, object], Any]
    """For a seeded row, which may hold what an agent may not write."""


def invalid(message: str) -> Refusal:
    """Return the refusal of an argument."""
    return Refusal("invalid_argument", message)


def string(label: str, value: object) -> str:
    """Return any text that the database can hold."""
    if not isinstance(value, str):
        raise invalid(f"{label} must be provided as a string.")
    if "\0" in value or not _encodable(value):
        raise invalid(f"{label} must be text: it holds a NUL character or half a surrogate pair.")
    return value


def _encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def text(label: str, value: object) -> str:
    """Return text that says something, without the space around it (V1)."""
    trimmed = string(label, value).strip()
    if not trimmed:
        raise invalid(f"{label} must not be blank or whitespace.")
    return trimmed


def _sought_text(label: str, value: object) -> str | None:
    return string(label, value).strip() or None


def _email(label: str, value: object) -> str:
    trimmed = text(label, value)
    if not _EMAIL.fullmatch(trimmed) or len(trimmed) > EMAIL_ROOM:
        raise invalid(f"Invalid email format: {cut(trimmed, EMAIL_ROOM, '')}")
    return trimmed


def _numeral(label: str, value: object) -> int | float:
    """Return what is really a number; bool is one only by accident."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise invalid(f"{label} must be numeric.")


def _number(label: str, value: object) -> Decimal:
    number = _numeral(label, value)
    if abs(number) >= ROOM or abs(cents := Decimal(str(number)).quantize(Decimal("0.01"))) >= ROOM:
        raise invalid(f"{label} is too large.")
    return cents


def _positive(label: str, value: object) -> Decimal:
    if _numeral(label, value) <= 0 or not (number := _number(label, value)):
        raise invalid(f"{label} must be greater than zero.")
    return number


def _amount(label: str, value: object) -> Decimal:
    if _numeral(label, value) > MOST:
        raise invalid(f"{label} must not exceed {MOST:,}.")
    return _positive(label, value)


def _probability(label: str, value: object) -> int:
    number = _numeral(label, value)
    if number != int(number):
        raise invalid(f"{label} must be a whole-number percentage.")
    if not 1 <= number <= 99:  # noqa: PLR2004 (V4)
        raise invalid(f"{label} must be between 1 and 99.")
    return int(number)


def _sought_number(label: str, value: object) -> float:
    number = _numeral(label, value)
    return float(number) if abs(number) < ROOM else math.inf


def _day(label: str, value: object) -> date:
    wrong = invalid(f"{label} must be a valid ISO-8601 date (YYYY-MM-DD).")
    try:
        given = text(label, value)
        moment = datetime.fromisoformat(given)
    except (ValueError, Refusal):
        raise wrong from None
    if not _DAY.match(given) or moment.time() != time():
        raise wrong
    return moment.date()


def _moment(label: str, value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(text(label, value))
    except (ValueError, Refusal):
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
    """Return an id as searches return it; None if it is none, in whatever other form Python would take it."""
    return UUID(value) if _ID.fullmatch(value) else None


def _sought_id(label: str, value: object) -> UUID:
    found = uuid(text(label, value))
    if found is None:
        raise invalid(f"{label} must be an id, such as a search returns.")
    return found


def _texts(label: str, value: object) -> list[str]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise invalid(f"{label} must be a list of strings.")
    return [text(label, item) for item in value]


_ANY_TEXT: Mapping[str, Json] = {"type": "string", "description": "part of it, upper and lower case alike"}
_A_TEXT: Mapping[str, Json] = {"type": "string", "pattern": r"\S"}
_A_NUMBER: Mapping[str, Json] = {"type": "number"}
_A_DAY: Mapping[str, Json] = {"type": "string", "format": "date"}
_AN_ID: Mapping[str, Json] = {"type": "string", "format": "uuid"}


def _searchable(schema: Mapping[str, Json], take: Callable[[str, object], str], condition: LiteralString) -> Kind:
    return Kind(schema=schema, take=take, filter_schema=_ANY_TEXT, seek=_sought_text, condition=condition, plant=string)


def _numeric(
    schema: Mapping[str, Json], take: Callable[[str, object], Any], plant: Callable[[str, object], Any]
) -> Kind:
    return Kind(schema=schema, take=take, filter_schema=_A_NUMBER, seek=_sought_number, plant=plant)


TEXT = _searchable(_A_TEXT, text, SUBSTRING)
EMAIL = _searchable({"type": "string", "format": "email"}, _email, SUBSTRING)
FILE_NAME = _searchable(
    {"type": "string", "description": f"letters, digits, . _ - and one of {', '.join(EXTENSIONS)}"},
    _file_name,
    SUBSTRING,
)
AMOUNT = _numeric({"type": "number", "exclusiveMinimum": 0, "maximum": int(MOST)}, _amount, _positive)
NUMBER = _numeric(_A_NUMBER, _number, _number)
PROBABILITY = _numeric(
    {"type": "integer", "minimum": 1, "maximum": 99, "description": "percent"}, _probability, _probability
)
DAY = Kind(schema=_A_DAY, take=_day, filter_schema=_A_DAY, seek=_day, plant=_day)
MOMENT = Kind(
    schema={"type": "string", "format": "date-time"},
    take=_moment,
    filter_schema={"type": "string", "format": "date-time"},
    seek=_moment,
    plant=_moment,
)
ID = Kind(schema=_AN_ID, take=text, filter_schema=_AN_ID, seek=_sought_id, plant=_sought_id)
"""Whether there is such a row is for the tool to say, also of what is no id at all."""
TEXTS = Kind(
    schema={"type": "array", "items": _A_TEXT},
    take=_texts,
    filter_schema=_ANY_TEXT,
    seek=_sought_text,
    condition="position(lower(%s) in lower(array_to_string({}, ', '))) > 0",
    plant=_texts,
)


def choice(*values: str) -> Kind:
    """Return the kind of one of ``values``, to the letter (V2)."""
    known = ", ".join(sorted(values))

    def take(label: str, value: object) -> str:
        if not isinstance(value, str) or value not in values:
            raise invalid(f"{label} must be one of: {known}.")
        return value

    schema: Mapping[str, Json] = {"type": "string", "enum": list(values)}
    return Kind(schema=schema, take=take, filter_schema=schema, seek=take, plant=take)
