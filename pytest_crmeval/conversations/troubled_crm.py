"""A CRM in which things go wrong as the case describes."""

from collections.abc import Mapping, Sequence

from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.messages import Tool, ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.trouble import Change, Lock, Outage
from pytest_crmeval.ports.crm import Crm, SeedError
from pytest_crmeval.ports.crm_calls import writes

NO_ANSWER = ToolError(
    kind="timeout", message="The CRM did not answer in time, and nothing was changed. Make the same call again."
)


class TroubledCrm:
    """Passes calls on to a seeded CRM, unless the case has an outage or a lock for the turn."""

    def __init__(self, crm: Crm, case: Conversation, *, outages: bool = True) -> None:
        self._crm = crm
        self._case = case
        self._outages = outages
        """Whether calls may get no answer; the reference calls always get one."""
        self._left: dict[str, int] = {}
        """Tool -> calls of this turn that get no answer."""
        self._locks: Sequence[Lock] = ()

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools that can be called."""
        return self._crm.tools

    def begin_turn(self, number: int) -> None:
        """Let other users do what the case says before a turn; SeedError if the CRM refuses it."""
        now = [trouble for trouble in self._case.trouble if trouble.turn == number]
        self._left = {each.tool: each.calls for each in now if isinstance(each, Outage) and self._outages}
        self._locks = [each for each in now if isinstance(each, Lock)]
        for change in (each for each in now if isinstance(each, Change)):
            result = self._crm.call(ToolCall(tool=change.tool, arguments=change.arguments))
            if result.error:
                raise SeedError(f"trouble: turn {number}: {change.tool}: {result.error.message}")

    def call(self, call: ToolCall) -> ToolResult:
        """Run a call, or fail as the case says; a call that fails changes nothing."""
        if isinstance(call.tool, str) and self._left.get(call.tool):
            self._left[call.tool] -= 1
            return ToolResult(error=NO_ANSWER)
        values = list(call.arguments.values()) if isinstance(call.arguments, Mapping) else []
        for lock in self._locks if writes(call.tool) else ():
            if lock.record in values:
                return ToolResult(error=locked(lock))
        return self._crm.call(call)


def locked(lock: Lock) -> ToolError:
    """Return the error of a call that would change a locked record."""
    message = f"This record is locked: {lock.by} is editing it. It can't be changed at the moment."
    return ToolError(kind="conflict", message=message)
