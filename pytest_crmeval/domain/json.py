"""What may cross a wire or a disk."""

from collections.abc import Mapping, Sequence

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]
"""A JSON primitive: the only kind of value that xdist, journals and reports know."""

JsonObject = Mapping[str, Json]
"""A JSON object."""
