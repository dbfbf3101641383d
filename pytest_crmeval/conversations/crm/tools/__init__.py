"""The tools that agents may call, by name. What is not listed here can't be called."""

from collections.abc import Mapping

from pytest_crmeval.conversations.crm.tools import clients, deals, overview, papers
from pytest_crmeval.conversations.crm.tools.kinds import Refusal, invalid
from pytest_crmeval.conversations.crm.tools.registry import Entry, Taken, shown
from pytest_crmeval.conversations.crm.tools.world import World
from pytest_crmeval.domain.calls import canonical
from pytest_crmeval.domain.messages import ToolCall, ToolResult

TOOLS: Mapping[str, Entry] = {
    entry.name: entry for entry in (*clients.ENTRIES, *deals.ENTRIES, *papers.ENTRIES, *overview.ENTRIES)
}


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
        told = f"There is no tool '{shown(call.tool)}'; the tools are: {', '.join(sorted(TOOLS))}."
        raise Refusal("unknown_tool", told)
    taken = entry.take(canonical(call).arguments)
    if entry.changes:
        _refuse_idle(call, taken, entry.changes.key)
    return entry, taken


def _refuse_idle(call: ToolCall, taken: Taken, key: str) -> None:
    """Refuse a change that does not say what to change (V12), or that would change the id."""
    updates = call.arguments.get("updates")
    if taken.keys() == {key} and updates != {}:
        raise invalid("Must provide either updates dict or keyword args")
    if isinstance(updates, Mapping) and str(updates.get(key, taken[key])).lower() != taken[key].lower():
        raise invalid(f"Unsupported fields for update: ['{key}'].")
