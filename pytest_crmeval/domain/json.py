"""What may cross a wire or a disk."""

from collections.abc import Mapping, Sequence

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]
"""A JSON primitive: the only kind of value that xdist, journals and reports know."""

JsonObject = Mapping[str, Json]
"""A JSON object."""

LONGEST = 20_000


def printable(text: str) -> str:
    """Return ``text`` as a wire can carry it: no lone surrogates, and no book."""
    safe = text.encode("utf-8", "backslashreplace").decode()
    return safe if len(safe) <= LONGEST else f"{safe[:LONGEST]}… ({len(safe)} characters)"
