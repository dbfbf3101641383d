"""How many may ask a model at the same time: what it bears is found out."""

FIRST, LEAST, MOST = 8.0, 1.0, 512.0


class ConcurrencyLimit:
    """Doubles with every round of answers until the server says that it is too much; halved then, and grown slowly."""

    def __init__(self) -> None:
        self._size = FIRST
        self._doubling = True
        self._halved_at = 0

    @property
    def limit(self) -> int:
        """How many."""
        return int(self._size)

    def grow(self, asking: int) -> None:
        """Heed an answer that came while so many asked; a size that nobody has tried says nothing about a larger."""
        if 2 * asking >= self.limit:
            self._size = min(MOST, self._size + (1.0 if self._doubling else 1.0 / self._size))

    def shrink(self, order: int, latest: int) -> None:
        """Heed a throttled answer to the call that was let in as number ``order``, when ``latest`` was the last.

        Calls that were let in before the concurrency was halved have nothing new to say.
        """
        if order <= self._halved_at:
            return
        self._doubling = False
        self._halved_at = latest
        self._size = max(LEAST, self._size / 2)
