"""A CRM that connects on first use, and reconnects after a lost connection."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from typing import Any

import psycopg

from pytest_crmeval.conversations.crm.postgres import PostgresCrm
from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.messages import Tool, ToolCall, ToolResult
from pytest_crmeval.domain.state import State
from pytest_crmeval.ports.crm import CrmConnectionLost


class ReconnectingCrm:
    """Wraps the CRM that ``connect`` opens; a test whose trial was played ahead of it never opens one.

    ``first`` is a CRM that is already open.
    """

    def __init__(self, connect: Callable[[], PostgresCrm], first: PostgresCrm | None = None) -> None:
        self._connect = connect
        self._crm = first

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools that can be called."""
        return self._opened().tools

    @contextmanager
    def seeded(self, seed: Seed, now: datetime, salt: str = "", page_size: int = 0) -> Iterator[None]:
        """Hold exactly the rows of ``seed`` while the context lasts.

        A connection that was lost before the trial starts is replaced here, so the trial is not affected.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(self._opened().seeded(seed, now, salt, page_size))
            except CrmConnectionLost:
                stack.enter_context(self._opened().seeded(seed, now, salt, page_size))
            yield

    def call(self, call: ToolCall) -> ToolResult:
        """Run a tool call."""
        return self._opened().call(call)

    def snapshot(self) -> State:
        """Return all rows as they are now."""
        return self._opened().snapshot()

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """The connection; a new one is opened if there is none or the server does not answer on it."""
        with suppress(CrmConnectionLost):
            return self._opened().connection
        return self._opened().connection

    def _opened(self) -> PostgresCrm:
        """Return the CRM, with a new connection if the last use showed that the old one is lost."""
        if self._crm is None or self._crm.is_lost:
            self._crm = self._connect()
        return self._crm

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._crm is not None:
            self._crm.close()
