"""Values that cross a process or a disk: msgspec encodes, decodes and validates them."""

import dataclasses
import json
from collections.abc import Mapping
from functools import cache, lru_cache
from threading import Lock
from typing import Any, ClassVar, Self, TypeVar

import msgspec

_T = TypeVar("_T")


class _OfDataclass:
    """An attribute that makes ``dataclasses.replace`` and ``fields`` work on a record."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, record: object, owner: type[msgspec.Struct]) -> object:
        return getattr(_as_dataclass(owner), self._name)


@cache
def _as_dataclass(cls: type[msgspec.Struct]) -> type:
    return dataclasses.make_dataclass(cls.__name__, cls.__struct_fields__, repr=False)


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value with a JSON form, which omits fields that have their default, unless they are declared ``always``."""

    __dataclass_fields__: ClassVar[Any] = _OfDataclass()
    __dataclass_params__: ClassVar[Any] = _OfDataclass()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON primitives."""
        return plain_json(self)  # type: ignore[no-any-return] # a struct is an object

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the value that ``to_dict`` wrote, ignoring unknown fields; ValueError if the record is invalid."""
        prepare(cls)
        return msgspec.convert(record, cls, str_keys=True)


_PREPARING = Lock()


@cache
def prepare(shape: type) -> None:
    """Have msgspec inspect a type, one thread at a time: two threads that use a new type at once crash the process.

    Seen with msgspec 0.22. Decoders that are made when their module is imported need no preparation.
    """
    with _PREPARING:
        msgspec.json.Decoder(shape)


def always(default: _T) -> _T:
    """Return the default of a field that is never omitted."""
    return msgspec.field(default_factory=lambda: default)


def plain_json(value: object) -> Any:  # noqa: ANN401 (any JSON)
    """Return a struct, or structs in lists and dicts, as JSON primitives."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except UnicodeEncodeError:  # half a surrogate pair, which only json writes
        return json.loads(json.dumps(msgspec.to_builtins(value, str_keys=True)))


@lru_cache(2**14)
def shared(value: _T) -> _T:
    """Return one object for all equal values: many trials have the same labels, turns and scores."""
    return value
