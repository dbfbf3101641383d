"""A circuit breaker: a model that stops answering is paused, probed, and given up. No clock, no waiting."""

FAILURES = 20
"""Consecutive calls without an answer, after all their retries, before a model is paused."""
BACKOFF = (5.0, 10.0, 20.0, 40.0)
"""Seconds before each probe, which is one attempt of one call. If the last probe fails, the model is given up."""


class Breaker:
    """Counts the failures of one model, and decides whether a call may go out.

    It starts closed. After ``failures`` consecutive failures it opens: only one call at a time may go out, as a probe,
    each after a longer pause. An answer closes it again. With ``failures`` = 0 it never opens.
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
        """Why the model was given up; empty if it was not."""

    def wait(self, now: float) -> float | None:
        """Return the seconds until a call may go out; None if it must wait for the probe, or if it never may."""
        if not self.is_open:
            return 0.0
        return None if self._probe or self.given_up else max(0.0, self._next - now)

    def let_in(self, number: int) -> None:
        """Note that a call goes out; it is the probe if the breaker is open."""
        if self.is_open:
            self._probe = number

    def answered(self) -> None:
        """Close: the model has answered."""
        self._failures = self._probes = self._probe = 0
        self.is_open = False

    def failed(self, now: float) -> None:
        """Count a call that ended without an answer; open after too many consecutive ones."""
        self._failures += 1
        if self._limit and self._failures >= self._limit and not self.is_open:
            self.is_open, self._next = True, now + BACKOFF[0]

    def back(self, number: int, why: str = "", now: float = 0.0) -> None:
        """Note that a call returned without an answer; ``why`` is empty if that says nothing about the model.

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
            self.given_up = f"no answer to {self._failures} consecutive calls and {self._probes} probes: {why}"
