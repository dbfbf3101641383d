"""The canonical form of calls to a CRM, which can be written in several ways."""

from collections.abc import Mapping

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall

TOOL_ALIASES: Mapping[str, str] = {"opportunity_details": "view_opportunity_details"}
"""Another name of a tool -> the tool."""

ARGUMENT_ALIASES: Mapping[str, Mapping[str, str]] = {"upload_document": {"document_url": "file_url"}}
"""Tool -> another name of an argument -> the argument."""

_WRITING = ("create_", "modify_", "delete_", "clone_", "cancel_", "upload_", "add_", "ensure_")


def canonical(call: ToolCall) -> ToolCall:
    """Return the call in the form that tools accept: without aliases, with flat arguments and without nulls.

    If a filter is given twice, the one in ``criteria`` counts; if a change is, the one outside ``updates``.
    Malformed calls are returned unchanged: the tool reports the error.
    """
    if not isinstance(call.tool, str) or not isinstance(call.arguments, Mapping):
        return call
    aliased = call.tool in TOOL_ALIASES or call.tool in ARGUMENT_ALIASES
    if not aliased and not {"criteria", "updates"} & call.arguments.keys() and None not in call.arguments.values():
        return call  # as most calls
    arguments: dict[str, Json] = dict(call.arguments)
    searches = call.tool.endswith("_search") or call.tool == "summarize_opportunities"
    if searches and isinstance(nested := arguments.get("criteria"), Mapping):
        del arguments["criteria"]
        arguments = {**arguments, **_given(nested)}
    elif call.tool.startswith("modify_") and isinstance(nested := arguments.get("updates"), Mapping):
        del arguments["updates"]
        arguments = {**nested, **_given(arguments)}
    given = _given(arguments)
    for alias, name in ARGUMENT_ALIASES.get(call.tool, {}).items():
        if alias in given:
            given.setdefault(name, given.pop(alias))
    return ToolCall(tool=TOOL_ALIASES.get(call.tool, call.tool), arguments=given)


def writes(tool: object) -> bool:
    """Whether a tool changes the CRM, according to its name, which may be any value that an agent sent."""
    return isinstance(tool, str) and tool.startswith(_WRITING)


def _given(arguments: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in arguments.items() if value is not None}
