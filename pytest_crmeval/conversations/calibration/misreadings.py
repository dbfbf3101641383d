"""Corrupted oracles that read the wrong data, or none."""

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
"""Reads that don't show what cases ask for, except cases about companies."""


def dropped_read(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Omit a read, and guess the right answer."""
    for turn in _own(rehearsal):
        yield instead(turn, what=f"no {turn.expected.tool}", knows=True)


def wrong_read(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Read something else, and guess the right answer."""
    for turn in _own(rehearsal):
        for tool in BESIDE:
            if not turn.expected.tool.startswith(("company_", "list_", "summarize_counts")):
                yield instead(turn, ToolCall(tool=tool), what=f"{tool}, not {turn.expected.tool}", knows=True)


def wrong_record_read(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Read another row of the same entity."""
    for turn in _own(rehearsal):
        yield from elsewhere(rehearsal, turn)


def changed_filter(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Change a filter of a search."""
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
    """Add a filter that no row matches."""
    for turn in _own(rehearsal):
        for name, schema in rehearsal.parameters(turn.expected.tool).items() if searches(turn) else ():
            if name not in template(turn).arguments and sort_of(name, schema) in ("text", "number"):
                yield changed(turn, name, NOWHERE if sort_of(name, schema) == "text" else 0.07)


def dropped_filters(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Omit the filters, and report everything found as if it had been asked for.

    Left out if the result is the same, because there are no other rows.
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
    """Yield the reads whose result neither their turn nor an earlier one shows in another way."""
    seeded = set(rehearsal.seeded)
    return (part for part in rehearsal.reads if not is_seen_beside(part) and not is_remembered(part, seeded))


def _there_is_more(rehearsal: Rehearsal, turn: Played) -> bool:
    """Whether there are rows of the entity that a search does not find."""
    entity = turn.expected.tool.removesuffix("_search").capitalize()
    found = {str(row[TABLES[entity][1]]) for row in rows_in(turn.wanted)}
    return any(row_id not in found for row_id, _ in rehearsal.survivors(entity))
