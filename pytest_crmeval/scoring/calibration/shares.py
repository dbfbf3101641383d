"""How many trials of a group were judged rightly, with the interval of their share."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from pytest_crmeval.domain.interval import Interval, clustered
from pytest_crmeval.domain.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many trials of a group were judged rightly."""

    right: int
    tried: int
    interval: Interval | None
    """At 95 %, with trials clustered by case; None if nothing was tried."""

    @classmethod
    def of(cls, trials: Iterable[tuple[str, bool]]) -> Self:
        """Count trials, each given as its case and whether it was judged rightly."""
        right: Counter[str] = Counter()
        tried: Counter[str] = Counter()
        for case, is_right in trials:
            tried[case] += 1
            right[case] += is_right
        parts = [(float(right[case]), float(count)) for case, count in tried.items()]
        return cls(right=right.total(), tried=tried.total(), interval=clustered(parts))

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        share = round(self.right / self.tried, 6) if self.tried else None
        interval = [round(bound, 6) for bound in self.interval] if self.interval else None
        return {"tried": self.tried, "right": self.right, "share": share, "interval": interval}

    def line(self, title: str) -> str:
        """Return a row of a table."""
        share = f"{self.right / self.tried:.3f}" if self.tried else "-"
        interval = "{:.3f} to {:.3f}".format(*self.interval) if self.interval else "-"
        return f"{title:24}{self.tried:8}{self.right:10}{share:>8}  {interval}"
