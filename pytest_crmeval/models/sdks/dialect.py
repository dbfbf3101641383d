"""What the APIs of servers have in common: requests, answers, usage."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from pytest_crmeval.domain.records import prepare
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.sdks.settings import Settings
from pytest_crmeval.ports.chat_model import Cause, Completion, Prompt

T = TypeVar("T", bound=msgspec.Struct)


class UnusableError(Exception):
    """An answer that can't be used, with the cause of the failure."""

    def __init__(self, cause: Cause, why: str) -> None:
        super().__init__(why)
        self.cause = cause


class Dialect(Protocol):
    """The format of one API."""

    @property
    def path(self) -> str:
        """The path of requests, below the server's address."""
        ...

    @property
    def settings(self) -> Settings:
        """The parameters that are sent with every prompt."""
        ...

    def body(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return the request."""
        ...

    def headers(self, body: Mapping[str, Any]) -> Mapping[str, str]:
        """Return headers that a request needs besides those of the SDK."""
        ...

    def read(self, answer: object) -> Completion:
        """Return the completion in the server's JSON; UnusableError if there is none."""
        ...

    def usage(self, answer: object) -> Usage | None:
        """Return the usage in the server's JSON, whatever else is in it; None if there is none."""
        ...


def converted(record: object, shape: type[T]) -> T:
    """Return the parts of a record that we read, validated; UnusableError if they are invalid."""
    prepare(shape)
    try:
        return msgspec.convert(record, shape)
    except msgspec.ValidationError as error:
        raise UnusableError(Cause.MALFORMED, str(error)) from None


def part(record: object, name: str) -> Mapping[str, Any]:
    """Return an object within a record, such as its usage; empty if it is missing or not an object."""
    found = record.get(name) if isinstance(record, dict) else None
    return found if isinstance(found, dict) else {}


def is_counted(record: object) -> bool:
    """Whether a server reports usage, readable or not."""
    return isinstance(record, dict) and record.get("usage") is not None


def of_type(name: str, items: Sequence[Mapping[str, Any]], shape: type[T]) -> list[T]:
    """Return the items of one type; items of unknown types are ignored."""
    if not all(isinstance(item.get("type"), str) for item in items):
        raise UnusableError(Cause.MALFORMED, "a part of it has no type")
    return [converted(item, shape) for item in items if item["type"] == name]


def thoughts_text(thoughts: object) -> str:
    """Return thoughts as text: servers send a text, or a list of parts with texts."""
    if isinstance(thoughts, list):
        return "\n\n".join(filter(None, map(thoughts_text, thoughts)))
    if isinstance(thoughts, dict):
        return thoughts_text(thoughts.get("text") or thoughts.get("thinking") or thoughts.get("summary"))
    return thoughts if isinstance(thoughts, str) else ""


def count(number: object) -> int:
    """Return a token count, which may be sent as text; 0 if there is none."""
    try:
        counted = float(number) if isinstance(number, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0
    return max(0, int(counted)) if math.isfinite(counted) else 0
