"""Shards: the part of an evaluation that one machine plays, and which shards are missing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from pytest_crmeval.domain.json import Json, JsonObject

_WRITTEN = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")
SHOWN = 12
"""Maximum number of shards in a message."""


class ShardSyntaxError(ValueError):
    """An invalid shard; the message describes the format."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Shard:
    """The ``index``-th of ``of`` parts, such as 2/4."""

    of: int
    index: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a shard; ShardSyntaxError if it is invalid."""
        match = _WRITTEN.fullmatch(text)
        index, of = map(int, match.groups()) if match else (0, 0)
        if not 1 <= index <= of:
            raise ShardSyntaxError("must be I/N, the I-th of N parts, for example 1/4")
        return cls(index=index, of=of)

    def __str__(self) -> str:
        """Return the shard as it is written on the command line."""
        return f"{self.index}/{self.of}"


def shard_of(part: JsonObject) -> Shard | None:
    """Return the shard of a part of a run; None if the part was not a shard.

    KeyError or TypeError if the record is invalid.
    """
    shard = part.get("shard")
    if not isinstance(shard, Mapping):
        return None
    return Shard(index=_number(shard["index"]), of=_number(shard["of"]))


def is_merged(parts: Json) -> bool:
    """Whether a run was merged from others."""
    return any("merged" in part for part in objects(parts))


def missing_shards(parts: Json) -> list[str]:
    """Return the missing shards of a run, such as 3/4, or 3/4 of an agent; empty for a run without shards."""
    there: dict[str, set[Shard]] = {}
    for part in objects(parts):
        if shard := shard_of(part):
            for agent in agents_of(part):
                there.setdefault(agent, set()).add(shard)
    sizes = {shard.of for shards in there.values() for shard in shards}
    lacking: dict[Shard, list[str]] = {}
    for shard in (Shard(index=index, of=of) for of in sorted(sizes) for index in range(1, of + 1)):
        lacking[shard] = [agent for agent, shards in there.items() if shard not in shards]
    return [
        str(shard) if len(agents) == len(there) else f"{shard} of {', '.join(agents)}"
        for shard, agents in lacking.items()
        if agents
    ]


def listed(shards: Sequence[str]) -> str:
    """Return shards as text, at most SHOWN of them."""
    more = f" ... and {len(shards) - SHOWN} more" if len(shards) > SHOWN else ""
    return ", ".join(shards[:SHOWN]) + more


def objects(parts: Json) -> list[JsonObject]:
    """Return the valid parts of a run."""
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list | tuple) else []


def agents_of(part: JsonObject) -> list[str]:
    """Return the names of a part's agents."""
    agents = part.get("agents")
    return list(agents) if isinstance(agents, Mapping) else []


def _number(value: Json) -> int:
    if not isinstance(value, int):
        raise TypeError(f"expected a number, found {value!r}")
    return value
