"""A circuit breaker: a model that stops answering is paused, probed, and given up. No clock, no waiting."""

FAILURES = 20
"""Calls in a row that end without an answer, all retries included, before a model is paused."""
BACKOFF = (5.0, 10.0, 20.0, 40.0)
"""Seconds before each probe, which is one attempt of one call. After the last one the model is given up."""


class Breaker:
    """Counts the failures of one model, and decides whether a call may go out.

    It is closed at first. After so many failures in a row it opens: only one call at a time is let in, as a probe, each
    after a longer pause. An answer closes it again. ``failures`` of 0 means that it never opens.
    """

    def __init__(self, failures: int = FAILURES) -> None:
        self._limit = failures
        self._failures = 0
        self._probes = 0
        """Probes that have failed."""
        self._probe = 0
        """The number of the call that is the probe now; 0 if there is none."""
        self._next = 0.0
        """When the next probe is due."""
        self.is_open = False
        self.given_up = ""
        """Why no call is let in any more; empty if calls are."""

    def wait(self, now: float) -> float | None:
        """Return the seconds until a call may go out; None: not before the probe is back, or never."""
        if not self.is_open:
            return 0.0
        return None if self._probe or self.given_up else max(0.0, self._next - now)

    def let_in(self, number: int) -> None:
        """Know that a call goes out; it is the probe if the breaker is open."""
        if self.is_open:
            self._probe = number

    def answered(self) -> None:
        """Close: the model has answered."""
        self._failures = self._probes = self._probe = 0
        self.is_open = False

    def failed(self, now: float) -> None:
        """Count a call that ended without an answer; open after too many in a row."""
        self._failures += 1
        if self._limit and self._failures >= self._limit and not self.is_open:
            self.is_open, self._next = True, now + BACKOFF[0]

    def back(self, number: int, why: str = "", now: float = 0.0) -> None:
        """Know that a call is back without an answer; ``why`` is empty if that says nothing about the model.

        Only the probe matters. One that says nothing about the model is followed by another at once.
        """
        if number != self._probe:
            return
        self._probe = 0
        if not why:
            return
        self._probes += 1
        if self._probes < len(BACKOFF):
            self._next = now + BACKOFF[self._probes]
        else:
            self.given_up = f"no answer to {self._failures} calls in a row, nor to {self._probes} probes: {why}"
