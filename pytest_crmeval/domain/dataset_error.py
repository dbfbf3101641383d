"""Errors in dataset files."""

import re
from difflib import get_close_matches
from typing import Any

import msgspec

SHOWN = 5
"""How many errors of a file are reported at once."""


class DatasetError(Exception):
    """A dataset file is invalid; the message names file, line and field, and says what to do."""


def located(error: msgspec.ValidationError, record: type[msgspec.Struct]) -> tuple[str, str]:
    """Return the field that is wrong, and what is wrong with it; if a name or value is unknown, with the known ones."""
    what, _, place = str(error).partition(" - at ")
    field = place.removeprefix("`key` in ").strip("`$.")
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`|Invalid enum value '(.*)'", what):
        known = _known_at(field, record)
        similar = get_close_matches(unknown[1] or unknown[2], known, n=1)
        what += f"; did you mean {similar[0]}?" if similar else ";"
        what += f" known {'fields' if unknown[1] else 'values'}: {', '.join(known)}"
    return field or "line", what


def _known_at(field: str, record: type[msgspec.Struct]) -> list[str]:
    """Return the fields of the object at a path such as `turns[0].expected_response`, or the values of an enum."""
    found: Any = msgspec.inspect.type_info(record)
    for step in re.findall(r"[^.\[\]]+|\[(?:\d+|\.\.\.)\]", field):
        if step.startswith("["):
            found = getattr(found, "item_type", None) or found.value_type
        else:
            found = next(each.type for each in found.fields if each.encode_name == step)
        while isinstance(found, msgspec.inspect.Metadata | msgspec.inspect.UnionType):
            found = found.type if isinstance(found, msgspec.inspect.Metadata) else found.types[0]
    if isinstance(found, msgspec.inspect.StructType):
        return [each.encode_name for each in found.fields]
    return [str(value) for value in found.values]
