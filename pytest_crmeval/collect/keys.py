"""What collection, items and fixtures keep in pytest's stashes."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # loaded in every pytest run of the environment
    from pytest_crmeval.player.context import Services
    from pytest_crmeval.player.kinds import Case  # noqa: F401 (in a string below)
    from pytest_crmeval.player.slots import Slots
    from pytest_crmeval.ports.agent import Agent  # noqa: F401 (in a string below)

FIXTURES = ("agent", "conversation", "crm", "crm_connection", "evaluate", "question", "sandbox", "scorers", "solutions")
OUR_FIXTURES = "pytest_crmeval.collect.fixtures"
"""The module of our fixtures: one of another module is the user's own."""
MARKERS = ("conversations", "questions", "solutions")
"""Each marker adds cases of its kind."""

SERVICES = pytest.StashKey[Callable[[], "Services"]]()
"""How to get the services of the run; set when pytest is configured."""
AHEAD = pytest.StashKey[Callable[[], "Slots"]]()
"""How to get the threads that play ahead, and what they have played; absent if nothing is played ahead."""
FINISHING = pytest.StashKey[Callable[[], AbstractContextManager[None]]]()
"""Delays an interrupt until the case that a test plays itself is finished; set while cases are played."""
GIVEN = pytest.StashKey["Case"]()
"""The case that our fixture gave to an item."""
OUR_AGENT = pytest.StashKey["Agent"]()
"""The agent that our fixture made; any other agent comes from a fixture of the user."""
