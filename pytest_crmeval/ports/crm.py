"""The interface of the CRM."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.messages import Tool, ToolCall, ToolResult
from pytest_crmeval.domain.state import State


class SeedError(Exception):
    """The initial rows of a case don't fit the schema, so the case is invalid."""


class CrmConnectionLost(Exception):  # noqa: N818 (what happened)
    """The connection to the CRM was lost, and the trial with it; the next ``seeded`` opens a new one."""


class CrmUnavailable(Exception):  # noqa: N818 (what it is)
    """The CRM was unreachable for too long, so the run can't continue; the message says what and how long."""


class CallableCrm(Protocol):
    """A CRM during a trial."""

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools that agents can call."""
        ...

    def call(self, call: ToolCall) -> ToolResult:
        """Execute a call. A refusal is a result and changes nothing. Raises CrmConnectionLost if there is no answer."""
        ...


class Crm(CallableCrm, Protocol):
    """A CRM that starts each trial with given rows and discards all changes at its end."""

    def seeded(self, seed: Seed, now: datetime, salt: str = "", page_size: int = 0) -> AbstractContextManager[None]:
        """Start a context with exactly the rows of ``seed`` and a clock that is fixed at ``now``.

        With a ``page_size``, tools that list rows show so many at a time and take a cursor.
        With the same ``salt``, new rows get the same ids in the same order, so that a trial can be repeated.
        Raises SeedError if the rows don't fit the schema.
        """
        ...

    def snapshot(self) -> State:
        """Return all rows as they are now."""
        ...
