"""Types of values that can be sent or stored."""

from collections.abc import Mapping, Sequence

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]
"""A JSON value, the only kind of value that xdist, journals and reports accept."""

JsonObject = Mapping[str, Json]
"""A JSON object."""


def copied(value: Json) -> Json:
    """Return a deep copy; the value itself if it is nested too deeply to be copied."""
    try:
        return _copied(value)
    except RecursionError:
        return value


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


TURNING = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Characters that reverse the direction of the following text -> their escapes."""
