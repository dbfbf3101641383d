"""Limits on the calls to one model: quotas per minute, concurrency, and the expected tokens of a call."""

from collections import deque
from dataclasses import dataclass
from math import inf, sqrt

from pytest_crmeval.models.limits.headers import Kind

MINUTE = 60.0
WINDOWS = (10.0, 20.0, 30.0, 60.0)
"""Seconds. A quota uses the shortest that a call fits into; if less than one request fits, they go at an even pace."""
LATE = 0.5
"""Seconds by which calls may differ in their time to the server: windows are longer by that."""
CATCH_UP = 0.15
"""Seconds of the pace that may be caught up after a pause or a late wake-up."""
FIRST, LEAST, MOST = 8.0, 1.0, 512.0
RECENT, ENOUGH = 64, 4
"""Number of recent calls to learn from, and their minimum."""
DEVIATIONS = 3.0
"""Standard deviations above the mean: with two, a simulated run exceeded its cap by 0.2 %."""


@dataclass(slots=True, eq=False)
class QuotaShare:
    """The part of a quota that one call uses, and when."""

    time: float
    cost: float


class Quota:
    """A limit per minute.

    Permits are given before a request is sent, and the server counts when it arrives. So no window of 10 s, plus the
    time that calls may be late, gives out more than a sixth; and calls are spread evenly over it, so that the excess is
    small even if some are later than that. A call that is larger than a window goes alone, and no call follows before
    its share of time has passed.
    """

    def __init__(self, kind: Kind, per_minute: int) -> None:
        self.kind = kind
        self._per_minute = per_minute
        self._drafts: deque[QuotaShare] = deque()
        self._drawn = 0.0
        self._next = -inf
        """When the next draft is due by the even pace."""
        self._most, self._span = self._window(1.0)

    def wait(self, now: float, cost: float) -> float:
        """Return the seconds until ``cost`` can be drawn."""
        self._expire(now)
        # When enough drafts have left the window; all of them, if the cost is larger than any window.
        excess, time = self._drawn + cost - self._most, -inf
        for draft in self._drafts:
            if excess <= 0:
                break
            excess -= draft.cost
            time = draft.time + self._span
        return max(0.0, self._next - now, time - now)

    def draw(self, now: float, cost: float) -> QuotaShare:
        """Draw ``cost`` from the quota."""
        self._expire(now)
        self._drafts.append(draft := QuotaShare(now, cost))
        self._drawn += cost
        self._most, self._span = self._window(self._drawn / len(self._drafts))
        worth = cost * self._pace
        # In the shortest window a call that had to wait for room may follow at once, else the window is not used up.
        spare = max(CATCH_UP, worth) if self._span == WINDOWS[0] + LATE else CATCH_UP
        self._next = max(self._next, now - spare) + worth
        return draft

    def settle(self, draft: QuotaShare, cost: float) -> None:
        """Replace the expected cost of a draft by the actual cost."""
        difference = cost - draft.cost
        draft.cost = cost
        self._next += difference * self._pace
        if self._drafts and draft.time >= self._drafts[0].time:
            self._drawn += difference

    @property
    def _pace(self) -> float:
        """Seconds per unit."""
        return self._span / self._most

    def _window(self, cost: float) -> tuple[float, float]:
        """Return the capacity and the length of the shortest window that a call of this size fits into."""
        if self.kind == "requests" and self._per_minute * WINDOWS[0] < MINUTE:
            return 1.0, MINUTE / self._per_minute + LATE
        for seconds in WINDOWS:
            most = self._per_minute * seconds / MINUTE
            if most >= max(cost, 1.0):
                break
        return max(1.0, float(int(most))), seconds + LATE

    def _expire(self, now: float) -> None:
        while self._drafts and self._drafts[0].time + self._span <= now:
            self._drawn -= self._drafts.popleft().cost


class ConcurrencyLimit:
    """Limits concurrent calls: doubles with every round of answers until the server throttles, then grows slowly."""

    def __init__(self) -> None:
        self._size = FIRST
        self._doubling = True
        self._halved_at = 0

    @property
    def limit(self) -> int:
        """The present limit."""
        return int(self._size)

    def grow(self, asking: int) -> None:
        """Grow after an answer, unless so few calls were in progress that the present limit is untested."""
        if 2 * asking >= self.limit:
            self._size = min(MOST, self._size + (1.0 if self._doubling else 1.0 / self._size))

    def shrink(self, order: int, latest: int) -> None:
        """Halve after a throttled call; ``order`` is its number, ``latest`` that of the last admitted call.

        Calls that were admitted before the limit was last halved are ignored.
        """
        if order <= self._halved_at:
            return
        self._doubling = False
        self._halved_at = latest
        self._size = max(LEAST, self._size / 2)


class TokenRatio:
    """The tokens of recent calls as shares of their bounds."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._mean = self._largest = 1.0
        self._deviation = 0.0

    def note(self, share: float) -> None:
        """Learn from one call."""
        self._recent.append(share)
        if len(self._recent) >= ENOUGH:
            self._largest = max(self._recent)
            self._mean = sum(self._recent) / len(self._recent)
            self._deviation = sqrt(sum((each - self._mean) ** 2 for each in self._recent) / len(self._recent))

    def expected(self, calls: int) -> float:
        """Return a share that ``calls`` together will hardly exceed; if they are few, the largest recent share."""
        return min(self._largest, self._mean + DEVIATIONS * self._deviation / sqrt(calls))
