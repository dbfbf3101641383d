"""The world that agents act in."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.messages import Tool, ToolCall, ToolResult
from pytest_crmeval.domain.state import State


class SeedError(Exception):
    """The rows that a case starts with don't fit the schema: the case is broken, not the agent."""


class CrmConnectionLost(Exception):  # noqa: N818 (what happened)
    """The connection to the CRM was lost, and the trial with it; the next ``seeded`` opens a new one."""


class CrmUnavailable(Exception):  # noqa: N818 (what it is)
    """The CRM was unreachable for too long, so the run can't continue; the message says what and how long."""


class Crm(Protocol):
    """A CRM that starts each trial with given rows and forgets everything at its end."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What can be called."""
        ...

    def seeded(self, seed: Seed, now: datetime, salt: str = "") -> AbstractContextManager[None]:
        """Hold exactly the rows of ``seed`` while the context lasts, and let the clock stand at ``now``.

        New rows get the same ids, in order, whenever the ``salt`` is the same: what an agent is shown can be repeated.
        SeedError if the rows can't be held.
        """
        ...

    def call(self, call: ToolCall) -> ToolResult:
        """Do what an agent asks. A refusal is a result and changes nothing; CrmConnectionLost if there is no answer."""
        ...

    def snapshot(self) -> State:
        """Return all rows as they are now."""
        ...
