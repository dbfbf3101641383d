"""Usage of language models, and its cost."""

from collections.abc import Iterable
from math import floor, log10
from typing import Any

from msgspec import structs

from pytest_crmeval.domain.records import Record

_DIGITS = 4
_PLACES = 8


class Usage(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Tokens and calls, as counted by the servers; values can be added."""

    input: int = 0
    """All input tokens, including cached ones."""
    cached: int = 0
    """Input tokens that were read from the server's cache."""
    cache_written: int = 0
    """Input tokens that were written to the server's cache."""
    output: int = 0
    """All output tokens, including reasoning."""
    reasoning: int = 0
    calls: int = 0
    """Calls that were answered."""
    retries: int = 0
    """Calls that were repeated."""

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum."""
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class Bill(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Usage and its cost."""

    usage: Usage = Usage()
    cost: float | None = 0.0
    """In US dollars; None (not 0) if the price of a model is unknown."""
    replayed: bool = False
    """Whether some of it came from a cassette, and was paid for only when it was recorded."""

    @property
    def spent(self) -> float:
        """The cost in this run; 0 if replayed or unknown."""
        return 0.0 if self.replayed else self.cost or 0.0

    def rounded(self) -> "Bill":
        """Return the bill with its cost rounded as it is stored."""
        return self if self.cost is None else structs.replace(self, cost=round(self.cost, _PLACES))

    def __add__(self, other: "Bill") -> "Bill":
        """Return the sum; its cost is unknown if one of the costs is."""
        known = self.cost is not None and other.cost is not None
        cost = (self.cost or 0.0) + (other.cost or 0.0) if known else None
        return Bill(usage=self.usage + other.usage, cost=cost, replayed=self.replayed or other.replayed)


class Service(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How fast models answered, and which part of the cost were thoughts and the cache; values can be added."""

    calls: int = 0
    """Calls that were answered by a model, not by a cassette."""
    seconds: float = 0.0
    """From sending these requests to their complete answers, without waiting for permits and retries."""
    output: int = 0
    """Their output tokens."""
    streamed: int = 0
    """Calls whose first token was timed."""
    first_seconds: float = 0.0
    """From sending these requests to their first tokens."""
    thoughts_cost: float | None = 0.0
    """Dollars for reasoning tokens, which are part of the cost; None if a price is unknown."""
    saved: float | None = 0.0
    """Dollars that the prompt cache saved; None if a price is unknown."""

    def __add__(self, other: "Service") -> "Service":
        """Return the sum; a sum with something unknown is unknown."""
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in self.__struct_fields__}
        sums: dict[str, Any] = {name: None if None in pair else round(sum(pair), 8) for name, pair in pairs.items()}
        return Service(**sums)


def served(services: Iterable[Service | None]) -> Service | None:
    """Return the sum of all services; None if there are none."""
    found = [service for service in services if service is not None]
    return sum(found[1:], start=found[0]) if found else None


def total(bills: Iterable[Bill | None]) -> Bill | None:
    """Return the rounded sum of all bills; None if there are none."""
    found = [bill for bill in bills if bill is not None]
    return sum(found[1:], start=found[0]).rounded() if found else None


def money(cost: float) -> str:
    """Return a cost as text: with cents above a dollar, with four significant digits below."""
    if cost >= 1 or cost <= 0:
        return f"${cost:,.2f}"
    whole, _, cents = f"{cost:.{_DIGITS - 1 - floor(log10(cost))}f}".partition(".")
    return f"${whole}.{cents.rstrip('0').ljust(2, '0')}"
