"""Figures that can be believed: a value, its interval, and what it was taken from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pytest_crmeval.domain.json import JsonObject

LEVEL = 0.95
"""How sure an interval is, unless somebody says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One metric of a subject; what could not be taken from anything has no figure, which is not zero."""

    value: float
    low: float | None = None
    """Where the 95 % interval begins; None if nothing can be said."""
    high: float | None = None
    n: int | None = None
    """Observations: trials, turns, programs."""
    units: int | None = None
    """What is independent among them, cases or chains, where that is fewer."""
    method: str = ""
    """How the interval was found: wilson, wilson (clustered), order statistics, normal."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval; None if there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; what is not known is absent."""
        interval = self.interval
        return {
            "value": self.value,
            **({"interval": list(interval)} if interval else {}),
            **({"n": self.n} if self.n is not None else {}),
            **({"units": self.units} if self.units is not None else {}),
            **({"method": self.method} if self.method else {}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the figure that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        low, high = record.get("interval", (None, None))
        return cls(
            value=float(record["value"]),
            low=low if low is None else float(low),
            high=high if high is None else float(high),
            n=record.get("n"),
            units=record.get("units"),
            method=str(record.get("method", "")),
        )


Figures = Mapping[str, Figure]
"""Name of a metric -> its figure."""


def figures_from(record: Mapping[str, Any]) -> dict[str, Figure]:
    """Return figures as they were written."""
    return {name: Figure.from_dict(figure) for name, figure in dict(record).items()}
