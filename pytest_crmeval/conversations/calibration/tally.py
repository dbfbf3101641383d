"""How often agents with a known verdict were scored correctly, with intervals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pytest_crmeval.domain.interval import Interval, clustered
from pytest_crmeval.domain.json import JsonObject

KEPT = 5
"""Maximum number of misses of one kind that are shown."""
_FREE = (
    "if a case has expected_state, columns that it does not list may have any value, and a change that a later turn "
    "overwrites leaves no trace"
)
WHY: Mapping[str, str] = {
    "choice changed": _FREE,
    "argument added": _FREE,
    "extra write": _FREE,
    "filters dropped": "the reply reports rows that were not asked for as if they had been; an honest agent may also "
    "mention other rows, for contrast or from an earlier turn, and the words don't always show the difference",
    "false name": "punctuation in names is ignored: uk-old and uk_old are the same words",
}
"""Kind that scorers can't always catch -> why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A trial that was scored wrongly."""

    case: str
    turn: int
    what: str
    """The deviation from the oracle."""
    reason: str = ""
    """Why it was not accepted; empty if it should not have been."""

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {"case": self.case, "turn": self.turn, "what": self.what, "reason": self.reason}

    def __str__(self) -> str:
        """Return one line."""
        place = f"{self.case}, turn {self.turn}: {self.what}"
        return f"{place} -> {self.reason}" if self.reason else place


@dataclass(slots=True, kw_only=True)
class AgentAccuracy:
    """How often one kind of agent was scored correctly."""

    kind: str
    tried: int = 0
    right: int = 0
    by_case: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Case -> how often it was scored correctly, and how often it was tried."""
    misses: list[Miss] = field(default_factory=list)
    """The first misses."""

    @property
    def share(self) -> float:
        """The share that was scored correctly."""
        return self.right / self.tried if self.tried else 1.0

    def add(self, case: str, miss: Miss | None) -> None:
        """Count one trial of a case."""
        self.tried += 1
        self.right += miss is None
        right, tried = self.by_case.get(case, (0, 0))
        self.by_case[case] = (right + (miss is None), tried + 1)
        if miss is not None and len(self.misses) < KEPT:
            self.misses.append(miss)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        figures: JsonObject = {
            "tried": self.tried,
            "right": self.right,
            "share": round(self.share, 6),
            "misses": [miss.to_dict() for miss in self.misses],
        }
        return {**figures, "why": WHY[self.kind]} if self.misses and self.kind in WHY else figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of trials or replies that were scored correctly, with its 95 % interval."""

    name: str
    right: int
    tried: int
    interval: Interval | None
    """Wilson's, clustered by conversation, because its variants are not independent. None if nothing was tried."""

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; a share of nothing is null."""
        share = round(self.right / self.tried, 6) if self.tried else None
        interval = [round(bound, 6) for bound in self.interval] if self.interval else None
        return {"name": self.name, "tried": self.tried, "right": self.right, "share": share, "interval": interval}

    def __str__(self) -> str:
        """Return one line of the table of shares."""
        if not self.interval:
            return f"{self.name:48}{self.tried:7}{self.right:9}{'-':>8}"
        low, high = self.interval
        return f"{self.name:48}{self.tried:7}{self.right:9}{self.right / self.tried:8.3f}   {low:.3f} to {high:.3f}"


def share_of(name: str, tallies: Iterable[AgentAccuracy]) -> Share:
    """Return the share of several kinds together."""
    parts: dict[str, tuple[int, int]] = {}
    for tally in tallies:
        for case, (right, tried) in tally.by_case.items():
            before = parts.get(case, (0, 0))
            parts[case] = (before[0] + right, before[1] + tried)
    right, tried = (sum(part[place] for part in parts.values()) for place in (0, 1))
    return Share(name=name, right=right, tried=tried, interval=clustered([*parts.values()]))
