"""What was asked of language models, and what it costs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import floor, log10
from typing import Any, Self

from pytest_crmeval.domain.json import JsonObject

_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and calls, as the servers counted them; they add up."""

    input: int = 0
    """All tokens that were read, cached ones included."""
    cached: int = 0
    """Those of them that came from the server's cache."""
    cache_written: int = 0
    """Those of them that were put into it."""
    output: int = 0
    """All tokens that were written, reasoning included."""
    reasoning: int = 0
    calls: int = 0
    """Calls that were answered."""
    retries: int = 0
    """Calls that had to be made again."""

    def __add__(self, other: "Usage") -> "Usage":
        """Return both together."""
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in self.__slots__})

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the usage that ``to_dict`` wrote; fields that are not known yet are passed over."""
        return cls(**{name: _count(record.get(name, 0)) for name in cls.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What something took: usage, and its price."""

    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    """In US dollars; None if no price is known for a model that was asked, which is not zero."""
    replayed: bool = False
    """Whether (some of) it came from a cassette: it was paid for when that was recorded, and not again."""

    @property
    def spent(self) -> float:
        """What it took from the budget of this run."""
        return 0.0 if self.replayed else self.cost or 0.0

    def __add__(self, other: "Bill") -> "Bill":
        """Return both on one bill; what is unknown in one is unknown in both."""
        known = self.cost is not None and other.cost is not None
        cost = (self.cost or 0.0) + (other.cost or 0.0) if known else None
        return Bill(usage=self.usage + other.usage, cost=cost, replayed=self.replayed or other.replayed)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; a cost that is not known is null."""
        cost = None if self.cost is None else round(self.cost, 8)
        return {"usage": self.usage.to_dict(), "cost": cost, "replayed": self.replayed}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the bill that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        cost = record["cost"]
        return cls(
            usage=Usage.from_dict(record["usage"]),
            cost=None if cost is None else float(cost),
            replayed=bool(record.get("replayed", False)),
        )


def total(bills: Iterable[Bill | None]) -> Bill | None:
    """Return all bills together; None if there is none."""
    found = [bill for bill in bills if bill is not None]
    return sum(found[1:], start=found[0]) if found else None


def money(cost: float) -> str:
    """Return a sum: cents above a dollar, four digits that say something below."""
    if cost >= 1 or cost <= 0:
        return f"${cost:,.2f}"
    whole, _, cents = f"{cost:.{_DIGITS - 1 - floor(log10(cost))}f}".partition(".")
    return f"${whole}.{cents.rstrip('0').ljust(2, '0')}"


def _count(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"expected a count, found {value!r}")
    return value
