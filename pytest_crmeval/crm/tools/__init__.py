"""The tools that agents may call, by name. What is not listed here can't be called."""

from collections.abc import Mapping

from pytest_crmeval.crm.tools import clients, deals, overview, papers
from pytest_crmeval.crm.tools.kinds import Refusal, invalid
from pytest_crmeval.crm.tools.registry import Entry, Taken
from pytest_crmeval.crm.tools.world import World
from pytest_crmeval.domain.calls import canonical
from pytest_crmeval.domain.json import printable
from pytest_crmeval.domain.messages import ToolCall, ToolResult

TOOLS: Mapping[str, Entry] = {
    entry.name: entry for entry in (*clients.ENTRIES, *deals.ENTRIES, *papers.ENTRIES, *overview.ENTRIES)
}
SHOWN = 80


def run(world: World, call: ToolCall) -> ToolResult:
    """Do what a call asks, or raise a Refusal; nothing reaches SQL before all arguments are checked."""
    entry, taken = _checked(call)
    return entry.handler(world, taken)


def check(call: ToolCall) -> str:
    """Return what is wrong with a call, whatever the CRM holds; empty if nothing is."""
    try:
        _checked(call)
    except Refusal as refusal:
        return refusal.error.message
    return ""


def _checked(call: ToolCall) -> tuple[Entry, Taken]:
    entry = TOOLS.get(call.tool) if isinstance(call.tool, str) else None
    if entry is None:
        name = printable(str(call.tool)[:SHOWN])
        raise Refusal("unknown_tool", f"There is no tool '{name}'; the tools are: {', '.join(sorted(TOOLS))}.")
    taken = entry.take(canonical(call).arguments)
    if entry.changes:
        _refuse_idle(call, taken, entry.changes.key)
    return entry, taken


def _refuse_idle(call: ToolCall, taken: Taken, key: str) -> None:
    """Refuse a change that does not say what to change (V12), or that would change the id."""
    updates = call.arguments.get("updates")
    if not isinstance(updates, Mapping):
        if taken.keys() == {key}:
            raise invalid("Must provide either updates dict or keyword args")
    elif updates.get(key, taken[key]) != taken[key]:
        raise invalid(f"Unsupported fields for update: ['{key}'].")
