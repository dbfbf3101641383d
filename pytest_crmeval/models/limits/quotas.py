"""So much a minute: given out evenly, and never more than its part in any short window. No clock, no waiting."""

from collections import deque
from dataclasses import dataclass
from math import inf

from pytest_crmeval.models.limits.headers import Kind

MINUTE = 60.0
WINDOWS = (10.0, 20.0, 30.0, 60.0)
"""Seconds. The shortest into which a call fits is held; requests of less than one in that go at an even pace."""
LATE = 0.5
"""Seconds that one call may be longer on its way to the server than another: windows are longer by that."""
CATCH_UP = 0.15
"""Seconds of pace that are not lost if nobody came for a permit, or a thread woke up late."""


@dataclass(slots=True, eq=False)
class Draft:
    """What one call takes out of a quota, and when."""

    time: float
    cost: float


class Quota:
    """What may be given out in a minute.

    Permits are given before a request travels, and the server counts when it arrives. So no window of 10 s, and the
    time that calls may be late, gives out more than the sixth part; and calls are spread evenly over it, so that
    little is above even if some are later than that. A call that is larger than a window goes alone, and nobody
    follows it before it has been worked off.
    """

    def __init__(self, kind: Kind, per_minute: int) -> None:
        self.kind = kind
        self._per_minute = per_minute
        self._drafts: deque[Draft] = deque()
        self._drawn = 0.0
        self._next = -inf
        """When the next draft is due by the even pace."""
        self._most, self._span = self._window(1.0)

    def wait(self, now: float, cost: float) -> float:
        """Return for how many seconds so much can't be drawn yet."""
        self._expire(now)
        return max(0.0, self._next - now, self._room(cost) - now)

    def draw(self, now: float, cost: float) -> Draft:
        """Take so much."""
        self._expire(now)
        self._drafts.append(draft := Draft(now, cost))
        self._drawn += cost
        self._most, self._span = self._window(self._drawn / len(self._drafts))
        worth = cost * self._pace
        # In the shortest window nothing can go wrong; without the one call that was kept waiting for room, it runs dry.
        spare = max(CATCH_UP, worth) if self._span == WINDOWS[0] + LATE else CATCH_UP
        self._next = max(self._next, now - spare) + worth
        return draft

    def settle(self, draft: Draft, cost: float) -> None:
        """Correct what was taken: now it is known."""
        difference = cost - draft.cost
        draft.cost = cost
        self._next += difference * self._pace
        if self._drafts and draft.time >= self._drafts[0].time:
            self._drawn += difference

    @property
    def _pace(self) -> float:
        """Seconds that one unit is worth."""
        return self._span / self._most

    def _window(self, cost: float) -> tuple[float, float]:
        """Return what fits into the shortest window that a call of this size fits into, and how long it is."""
        if self.kind == "requests" and self._per_minute * WINDOWS[0] < MINUTE:
            return 1.0, MINUTE / self._per_minute + LATE
        for seconds in WINDOWS:
            most = self._per_minute * seconds / MINUTE
            if most >= max(cost, 1.0):
                break
        return max(1.0, float(int(most))), seconds + LATE

    def _room(self, cost: float) -> float:
        """Return when enough has left the window; all of it, if the cost is larger than any window."""
        excess, time = self._drawn + cost - self._most, -inf
        for draft in self._drafts:
            if excess <= 0:
                break
            excess -= draft.cost
            time = draft.time + self._span
        return time

    def _expire(self, now: float) -> None:
        while self._drafts and self._drafts[0].time + self._span <= now:
            self._drawn -= self._drafts.popleft().cost
