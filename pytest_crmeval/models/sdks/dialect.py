"""How a server is spoken to: what the kinds of API have in common."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from pytest_crmeval.domain.prompt import Completion, Prompt
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.sdks.settings import Settings
from pytest_crmeval.ports.chat_model import Cause

T = TypeVar("T")


class UnusableError(Exception):
    """An answer that is none: why, and what kind of failure that is."""

    def __init__(self, cause: Cause, why: str) -> None:
        super().__init__(why)
        self.cause = cause


class Dialect(Protocol):
    """One kind of API."""

    @property
    def path(self) -> str:
        """Where requests go, below the server's address."""
        ...

    @property
    def settings(self) -> Settings:
        """What goes along with every prompt."""
        ...

    def body(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return the request."""
        ...

    def headers(self, body: Mapping[str, Any]) -> Mapping[str, str]:
        """Return headers that a request needs besides the SDK's own."""
        ...

    def read(self, answer: object) -> Completion:
        """Return what the server's JSON says; UnusableError if it is no answer."""
        ...

    def usage(self, answer: object) -> Usage | None:
        """Return what the server's JSON took, whatever else is in it; None if it does not tell."""
        ...


def shaped(record: object, shape: type[T]) -> T:
    """Return the parts of a record that we read, seen to be what they should; UnusableError if they are not."""
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
    """Return the items of one type; those of types that we don't know are passed over."""
    if not all(isinstance(item.get("type"), str) for item in items):
        raise UnusableError(Cause.MALFORMED, "there is a part of no type in it")
    return [shaped(item, shape) for item in items if item["type"] == name]


def spelled(thoughts: object) -> str:
    """Return thoughts as text: servers send a text, or a list of parts with texts in them."""
    if isinstance(thoughts, list):
        return "\n\n".join(filter(None, map(spelled, thoughts)))
    if isinstance(thoughts, dict):
        return spelled(thoughts.get("text") or thoughts.get("thinking"))
    return thoughts if isinstance(thoughts, str) else ""


def count(number: object) -> int:
    """Return a token count, which may be sent as text; 0 if there is none."""
    try:
        counted = float(number) if isinstance(number, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0
    return max(0, int(counted)) if math.isfinite(counted) else 0
