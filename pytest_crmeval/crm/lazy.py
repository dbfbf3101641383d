"""A CRM that is made when it is first used: an item whose trial was played ahead needs none."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cached_property

from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.messages import Tool, ToolCall, ToolResult
from pytest_crmeval.domain.state import State
from pytest_crmeval.ports.crm import Crm


class LazyCrm:
    """Stands for a CRM that ``make`` makes."""

    def __init__(self, make: Callable[[], Crm]) -> None:
        self._make = make

    @cached_property
    def _crm(self) -> Crm:
        return self._make()

    @property
    def tools(self) -> Sequence[Tool]:
        """What can be called."""
        return self._crm.tools

    def seeded(self, seed: Seed, now: datetime, salt: str = "") -> AbstractContextManager[None]:
        """Hold exactly the rows of ``seed`` while the context lasts."""
        return self._crm.seeded(seed, now, salt)

    def call(self, call: ToolCall) -> ToolResult:
        """Do what an agent asks."""
        return self._crm.call(call)

    def snapshot(self) -> State:
        """Return all rows as they are now."""
        return self._crm.snapshot()
