"""What may cross a wire or a disk."""

from collections.abc import Mapping, Sequence

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]
"""A JSON primitive: the only kind of value that xdist, journals and reports know."""

JsonObject = Mapping[str, Json]
"""A JSON object."""


def copied(value: Json) -> Json:
    """Return a copy that others may change; of what is too deep to be copied, itself."""
    try:
        return _copied(value)
    except RecursionError:
        return value


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


LONGEST = 20_000


def printable(text: str) -> str:
    """Return ``text`` as a wire can carry it: no lone surrogates, and no book."""
    safe = text.encode("utf-8", "backslashreplace").decode()
    return safe if len(safe) <= LONGEST else f"{safe[:LONGEST]}… ({len(safe)} characters)"
