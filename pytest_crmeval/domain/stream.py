"""Cases whose order counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pytest_crmeval.domain.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The cases of one learner."""

    ordered: Sequence[str] = ()
    after: Sequence[str] = ()
    """What is played when those are over, in any order."""

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {"ordered": list(self.ordered), "after": list(self.after)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return what ``to_dict`` wrote."""
        return cls(ordered=tuple(record["ordered"]), after=tuple(record["after"]))
