"""Values shortened to a length, as JSON, with a mark where something was left out."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json

DEEPEST = 8
_LONGEST = 20_000
_KEY = 100
_LEAST = 12
"""With fewer characters left, no further field is shown."""
_BITS = 128


def encoded(value: Json) -> str:
    """Return JSON on one line, with ``<`` escaped, so that it can't contain a tag."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


@dataclass(frozen=True, slots=True)
class Excerpts:
    """Shortens values; ``named`` is applied to all texts before."""

    named: Callable[[str], str] = str

    def of(self, value: object, most: int, *, depth: int = 0) -> Json:
        """Return ``value``, which may be anything, or about ``most`` characters of it."""
        if value is None or isinstance(value, int | float):
            return _number(value) if value else value
        if isinstance(value, str):
            return self._text(value, most)
        if depth == DEEPEST:
            return "… (too deep to be shown)"
        if isinstance(value, Mapping):
            return self._fields(value, most, depth + 1)
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return self._items(value, most, depth + 1)
        return self._text(f"({type(value).__name__}, not JSON)", most)

    def _text(self, text: str, most: int) -> str:
        safe = self.named(cut(text, _LONGEST, "").encode("utf-8", "backslashreplace").decode())
        if len(text) <= _LONGEST and len(encoded(safe)) <= most:
            return safe
        said = f"… ({len(text):,} characters)"
        keep = max(0, most - len(said))
        while keep and len(encoded(cut(safe, keep, ""))) > most:
            keep //= 2
        return f"{cut(safe, keep, '')}{said}"

    def _items(self, items: Sequence[object], most: int, depth: int) -> list[Json]:
        """Return the first items, complete; only a first one that alone is too long is shortened."""
        shown: list[Json] = []
        left = most
        for item in items:
            short = self.of(item, most, depth=depth)
            left -= len(encoded(short)) + 2
            if left < 0 and shown:
                break
            shown.append(short)
        rest = len(items) - len(shown)
        return [*shown, f"… {rest:,} more, {len(items):,} in all"] if rest else shown

    def _fields(self, fields: Mapping[object, object], most: int, depth: int) -> dict[str, Json]:
        """Return all fields unchanged if they fit; else as many as fit, each shortened to its share."""
        whole = self._fitting(fields.items(), most, most, depth)
        if len(whole) == len(fields) and len(encoded(whole)) <= most:
            return whole
        share = max(2 * _LEAST, most // max(1, len(fields)))
        shown = self._fitting(fields.items(), most, share, depth)
        rest = len(fields) - len(shown)
        return {**shown, "…": f"{rest:,} more, {len(fields):,} in all"} if rest else shown

    def _fitting(self, fields: Iterable[tuple[object, object]], most: int, each: int, depth: int) -> dict[str, Json]:
        shown: dict[str, Json] = {}
        left = most
        for name, value in fields:
            if left < _LEAST:
                break
            key = self._text(str(name), _KEY)
            shown[key] = self.of(value, each, depth=depth)
            left -= len(encoded({key: shown[key]}))
        return shown


def _number(value: float) -> Json:
    """Return a number; those that JSON can't represent, as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value.bit_length() <= _BITS else f"… (a whole number of {value.bit_length():,} bits)"
