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


TURNING = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Signs that turn around what comes after them, and how they are spelled out where that is ours."""
