"""What collection, items and fixtures keep in pytest's stashes."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol

import pytest

if TYPE_CHECKING:  # loaded in every pytest run of the environment
    from pytest_crmeval.domain.json import JsonObject
    from pytest_crmeval.player.context import Services
    from pytest_crmeval.player.kinds import Case  # noqa: F401 (in a string below)
    from pytest_crmeval.ports.agent import Agent  # noqa: F401 (in a string below)

FIXTURES = ("agent", "conversation", "crm", "crm_connection", "evaluate", "question", "sandbox", "scorers", "solutions")
OUR_FIXTURES = "pytest_crmeval.collect.fixtures"
"""The module of our fixtures: one of another module is the user's own."""


class Ahead(Protocol):
    """Where an item finds what was played ahead."""

    def take(self, key: str, *, patient: bool) -> "tuple[Literal['played', 'alone', 'over'], JsonObject | None]":
        """Return how a case was played, as soon as it is; who is told "alone" plays it himself.

        Who is ``patient`` has it played next by a slot, if nobody has begun.
        """
        ...

    def finish(self, key: str, outcome: "JsonObject") -> None:
        """Tell how an item has played its own case."""
        ...

    def leave(self, key: str) -> None:
        """Have nothing more played ahead for the test of this case."""
        ...

    def drop(self, key: str) -> None:
        """Tell that an item has not come to the end of its own case."""
        ...


MARKERS = ("conversations", "questions", "solutions")
"""Each brings cases of its kind."""

SERVICES = pytest.StashKey[Callable[[], "Services"]]()
"""How to get the services of the run; set when pytest is configured."""
AHEAD = pytest.StashKey[Callable[[], "Ahead"]]()
"""How to get at what was played ahead; absent where nothing is."""
FINISHING = pytest.StashKey[Callable[[], AbstractContextManager[None]]]()
"""How to have a case finished that a test plays itself, though the run is interrupted; set while cases are played."""
GIVEN = pytest.StashKey["Case"]()
"""The case that our fixture gave to an item."""
OUR_AGENT = pytest.StashKey["Agent"]()
"""The agent that our fixture made: a conftest that overrides it is known by not being it."""
