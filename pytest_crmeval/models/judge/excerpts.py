"""Values cut to a length, as JSON; whatever is cut says so."""

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
"""With fewer characters left nothing is said any more."""
_BITS = 128


def encoded(value: Json) -> str:
    """Return JSON on one line in which no tag can be opened or closed."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


@dataclass(frozen=True, slots=True)
class Excerpts:
    """Cuts values; ``named`` is done to all their texts before."""

    named: Callable[[str], str] = str

    def of(self, value: object, most: int, *, depth: int = 0) -> Json:
        """Return ``value``, or so much of it as takes about ``most`` characters; it may be anything."""
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
        return self._text(f"({type(value).__name__}, which is no JSON)", most)

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
        """Return the first items, each of them whole but a first one that alone is too long."""
        shown: list[Json] = []
        left = most
        for item in items:
            told = self.of(item, most, depth=depth)
            left -= len(encoded(told)) + 2
            if left < 0 and shown:
                break
            shown.append(told)
        rest = len(items) - len(shown)
        return [*shown, f"… {rest:,} more, {len(items):,} in all"] if rest else shown

    def _fields(self, fields: Mapping[object, object], most: int, depth: int) -> dict[str, Json]:
        """Return all fields as they are, if they fit; or as many as fit, each cut to its share."""
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
    """Return a number that JSON knows; of others, words."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value.bit_length() <= _BITS else f"… (a whole number of {value.bit_length():,} bits)"
