"""Opportunities: deals that are being made, won or lost."""

from typing import Any

from psycopg import sql

from pytest_crmeval.conversations.crm.tools.entities import OPPORTUNITY
from pytest_crmeval.conversations.crm.tools.kinds import Refusal, invalid
from pytest_crmeval.conversations.crm.tools.registry import Entry, Taken, changing, searching
from pytest_crmeval.conversations.crm.tools.world import World, where
from pytest_crmeval.domain.messages import ToolResult

CLOSED = ("Closed-Won", "Closed-Lost")
FROZEN = ("stage", "amount", "probability", "close_date")
COPIED = ("client_id", "stage", "amount", "close_date", "owner", "probability", "notes")
NO_OWNER = "Unassigned"


def create_new_opportunity(world: World, taken: Taken) -> ToolResult:
    """Open a deal with a client."""
    world.find("Client", taken["client_id"])
    _refuse_past(world, taken)
    return world.insert(OPPORTUNITY, taken)


def modify_opportunity(world: World, row: dict[str, Any], changes: Taken) -> ToolResult:
    """Change a deal; a closed one keeps its stage, amount, probability and date (V9)."""
    frozen = sorted(changes.keys() & set(FROZEN))
    if row["stage"] in CLOSED and frozen:
        raise Refusal(
            "refused_by_rule", f"Cannot modify closed opportunity fields {frozen} while stage is '{row['stage']}'."
        )
    _refuse_past(world, changes)
    return world.update(OPPORTUNITY, row, changes)


def clone_opportunity(world: World, taken: Taken) -> ToolResult:
    """Open a deal like another one."""
    row = world.find("Opportunity", taken["opportunity_id"])
    copied = {name: row[name] for name in COPIED if row[name] is not None and str(row[name]).strip()}
    entry = _BY_NAME["create_new_opportunity"]
    return create_new_opportunity(world, entry.take({**copied, "name": f"{row['name']} (Clone)"}))


def delete_opportunity(world: World, taken: Taken) -> ToolResult:
    """Delete a deal with its quotes; contracts lose their link to it."""
    return world.delete(OPPORTUNITY, world.find("Opportunity", taken["opportunity_id"]))


def view_opportunity_details(world: World, taken: Taken) -> ToolResult:
    """Return one deal."""
    return ToolResult(value=world.find("Opportunity", taken["opportunity_id"]))


def summarize_opportunities(world: World, filters: Taken) -> ToolResult:
    """Count and add up deals."""
    query = sql.SQL(
        "SELECT stage::text, owner, count(*), sum(amount)::float8 FROM opportunities WHERE {} GROUP BY 1, 2"
    )
    found = world.query(query.format(where(OPPORTUNITY, tuple(filters))), list(filters.values()))
    by_stage: dict[str, int] = {}
    by_owner: dict[str, int] = {}
    for stage, owner, count, _ in sorted(found, key=str):
        by_stage[stage] = by_stage.get(stage, 0) + count
        by_owner[owner or NO_OWNER] = by_owner.get(owner or NO_OWNER, 0) + count
    return ToolResult(
        value={
            "total_count": sum(count for _, _, count, _ in found),
            "total_amount": round(sum(amount for *_, amount in found), 2),
            "by_stage": by_stage,
            "by_owner": by_owner,
        }
    )


def _refuse_past(world: World, values: Taken) -> None:
    if "close_date" in values and values["close_date"] < world.now.date():
        raise invalid(f"Close date must be today or in the future. (Today is {world.now.date()}.)")


ENTRIES = (
    searching(OPPORTUNITY, "Find deals. Every filter has to match; without any, all deals are found."),
    Entry(
        name="create_new_opportunity",
        description="Open a deal with an existing client. A close date must not be in the past.",
        handler=create_new_opportunity,
        required=OPPORTUNITY.kinds("name", "client_id", "amount", "stage"),
        optional=OPPORTUNITY.kinds("probability", "close_date", "owner", "notes"),
    ),
    changing(
        OPPORTUNITY,
        "Change fields of a deal. Once it is closed, stage, amount, probability and close date stay as they are.",
        modify_opportunity,
    ),
    Entry(
        name="clone_opportunity",
        description="Open a new deal that is like another one, named after it with ' (Clone)' at the end.",
        handler=clone_opportunity,
        required=OPPORTUNITY.kinds("opportunity_id"),
    ),
    Entry(
        name="delete_opportunity",
        description="Delete a deal together with its quotes. Contracts stay, without their link to it.",
        handler=delete_opportunity,
        required=OPPORTUNITY.kinds("opportunity_id"),
    ),
    Entry(
        name="view_opportunity_details",
        description="Show one deal with all its fields.",
        handler=view_opportunity_details,
        required=OPPORTUNITY.kinds("opportunity_id"),
    ),
    Entry(
        name="opportunity_details",
        description="Another name of view_opportunity_details.",
        handler=view_opportunity_details,
        required=OPPORTUNITY.kinds("opportunity_id"),
    ),
    Entry(
        name="summarize_opportunities",
        description="Count deals and add up their amounts, in all, by stage and by owner; filters as in a search.",
        handler=summarize_opportunities,
        optional=OPPORTUNITY.columns,
        filters=True,
    ),
)
_BY_NAME = {entry.name: entry for entry in ENTRIES}
