"""What players and items ask of the queue."""

from typing import Literal, Protocol

from pytest_crmeval.domain.json import JsonObject

Taken = tuple[Literal["played", "alone", "over"], JsonObject | None]
"""The answer to an item: its outcome; or that it has to play its case itself; or that the run is over."""


class ControllerGoneError(Exception):
    """The controller can't be reached any more, or has answered with an error."""


class QueueClient(Protocol):
    """The queue of the controller, or a worker's proxy of it."""

    def join(self, player: str, slots: int) -> None:
        """Know that somebody is going to play so many cases at the same time."""
        ...

    def quit(self, player: str, why: str = "") -> None:
        """Know that he plays one less from now on; and why, if not because there is no more."""
        ...

    def settle(self, player: str, *, over: bool) -> None:
        """Wait until somebody, whose own items are done, has played what there is to play; ``over``: for anybody."""
        ...

    def next(self, player: str) -> str | None:
        """Wait for a case to play; None when there is no more."""
        ...

    def finish(self, key: str, outcome: JsonObject) -> None:
        """Tell how a case was played."""
        ...

    def drop(self, key: str) -> None:
        """Give a case back that could not be played: its item will do it."""
        ...

    def take(self, key: str, player: str, *, patient: bool) -> Taken:
        """Wait for the outcome of a case and return it; "alone" means that the item has to play the case itself.

        If ``patient``, a case that is not being played yet is given to a slot next.
        """
        ...

    def leave(self, key: str) -> None:
        """Have nothing more played ahead for the test of this case."""
        ...
