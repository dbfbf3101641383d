"""Corrupted oracles that ask the CRM for something else than the user asked them for, or for nothing at all."""

from collections.abc import Iterator

from pytest_crmeval.conversations.calibration.flaws import elsewhere
from pytest_crmeval.conversations.calibration.rehearsal import Rehearsal, is_seen_beside, searches, sort_of, template
from pytest_crmeval.conversations.calibration.variants import Kinds, Variant, changed, instead
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.tool_calls import is_remembered
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import TABLES

NOWHERE = "nowhere-to-be-found"
BESIDE = ("list_companies", "list_documents", "list_notes")
"""Reads that show nothing of what cases ask for; but for those that ask for companies."""


def dropped_read(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Look nothing up, and guess right."""
    for turn in _own(rehearsal):
        yield instead(turn, what=f"no {turn.expected.tool}", knows=True)


def wrong_read(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Look at something else, and guess right."""
    for turn in _own(rehearsal):
        for tool in BESIDE:
            if not turn.expected.tool.startswith(("company_", "list_", "summarize_counts")):
                yield instead(turn, ToolCall(tool=tool), what=f"{tool}, not {turn.expected.tool}", knows=True)


def wrong_record_read(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Look at another row of the same entity."""
    for turn in _own(rehearsal):
        yield from elsewhere(rehearsal, turn)


def changed_filter(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Look for something else."""
    for turn in _own(rehearsal):
        for name, value in rehearsal.arguments(turn, "text"):
            yield changed(turn, name, f"{value} {NOWHERE}")
        for name, value in rehearsal.arguments(turn, "choice"):
            others = rehearsal.choices(turn.expected.tool, name)
            yield from (changed(turn, name, other) for other in others if other != value)
        for name, value in rehearsal.arguments(turn, "number"):
            if isinstance(value, int | float):
                yield changed(turn, name, value + 1)


def impossible_filter(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Look for what is asked that also has something that no row has."""
    for turn in _own(rehearsal):
        for name, schema in rehearsal.parameters(turn.expected.tool).items() if searches(turn) else ():
            if name not in template(turn).arguments and sort_of(name, schema) in ("text", "number"):
                yield changed(turn, name, NOWHERE if sort_of(name, schema) == "text" else 0.07)


def dropped_filters(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Forget the filters, and tell of everything that is found as if it had been asked for.

    Left out where that is the same, because there is nothing else to be found.
    """
    for turn in _own(rehearsal):
        call = template(turn)
        if call.tool.endswith("_search") and call.arguments and _there_is_more(rehearsal, turn):
            yield instead(turn, ToolCall(tool=call.tool), what=f"{call.tool} without {', '.join(call.arguments)}")


MISREADINGS: Kinds = {
    "read dropped": dropped_read,
    "wrong read": wrong_read,
    "wrong record read": wrong_record_read,
    "filter changed": changed_filter,
    "impossible filter": impossible_filter,
    "filters dropped": dropped_filters,
}


def _own(rehearsal: Rehearsal) -> Iterator[Played]:
    """Yield the reads that nothing else in their turn, and no turn before, makes up for."""
    seeded = set(rehearsal.seeded)
    return (part for part in rehearsal.reads if not is_seen_beside(part) and not is_remembered(part, seeded))


def _there_is_more(rehearsal: Rehearsal, turn: Played) -> bool:
    """Whether rows of the kind that a search is for are there that it does not find."""
    entity = turn.expected.tool.removesuffix("_search").capitalize()
    found = {str(row[TABLES[entity][1]]) for row in rows_in(turn.wanted)}
    return any(row_id not in found for row_id, _ in rehearsal.survivors(entity))
