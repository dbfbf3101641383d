"""Tools for opportunities: open, won and lost deals."""

from typing import Any

from psycopg import sql

from pytest_crmeval.conversations.crm.tools.definition import Arguments, ToolDefinition, modify_tool, search_tool
from pytest_crmeval.conversations.crm.tools.entities import OPPORTUNITY
from pytest_crmeval.conversations.crm.tools.session import CrmSession, where
from pytest_crmeval.conversations.crm.tools.value_types import RefusedCall, invalid
from pytest_crmeval.domain.messages import ToolResult

CLOSED = ("Closed-Won", "Closed-Lost")
FROZEN = ("stage", "amount", "probability", "close_date")
COPIED = ("client_id", "stage", "amount", "close_date", "owner", "probability", "notes")
NO_OWNER = "Unassigned"


def create_new_opportunity(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Open a deal with a client."""
    session.find("Client", arguments["client_id"])
    _refuse_past(session, arguments)
    return session.insert(OPPORTUNITY, arguments)


def modify_opportunity(session: CrmSession, row: dict[str, Any], changes: Arguments) -> ToolResult:
    """Change a deal; a closed one keeps its stage, amount, probability and date (V9)."""
    frozen = sorted(changes.keys() & set(FROZEN))
    if row["stage"] in CLOSED and frozen:
        raise RefusedCall(
            "refused_by_rule", f"Cannot modify closed opportunity fields {frozen} while stage is '{row['stage']}'."
        )
    _refuse_past(session, changes)
    return session.update(OPPORTUNITY, row, changes)


def clone_opportunity(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Open a copy of a deal."""
    row = session.find("Opportunity", arguments["opportunity_id"])
    copied = {name: row[name] for name in COPIED if row[name] is not None and str(row[name]).strip()}
    arguments = CREATE.parse({**copied, "name": f"{row['name']} (Clone)"})
    return create_new_opportunity(session, arguments)


def delete_opportunity(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Delete a deal with its quotes; contracts lose their link to it."""
    return session.delete(OPPORTUNITY, session.find("Opportunity", arguments["opportunity_id"]))


def view_opportunity_details(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Return one deal."""
    return ToolResult(value=session.find("Opportunity", arguments["opportunity_id"]))


def summarize_opportunities(session: CrmSession, filters: Arguments) -> ToolResult:
    """Count and add up deals."""
    query = sql.SQL(
        "SELECT stage::text, owner, count(*), sum(amount)::float8 FROM opportunities WHERE {} GROUP BY 1, 2"
    )
    found = sorted(session.query(query.format(where(OPPORTUNITY, tuple(filters))), list(filters.values())), key=str)
    by_stage: dict[str, int] = {}
    by_owner: dict[str, int] = {}
    for stage, owner, count, _ in found:
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


def _refuse_past(session: CrmSession, values: Arguments) -> None:
    if "close_date" in values and values["close_date"] < session.now.date():
        raise invalid(f"Close date must be today or in the future. (Today is {session.now.date()}.)")


CREATE = ToolDefinition(
    name="create_new_opportunity",
    description="Create a deal with an existing client. The close date must not be in the past.",
    handler=create_new_opportunity,
    required=OPPORTUNITY.types("name", "client_id", "amount", "stage"),
    optional=OPPORTUNITY.types("probability", "close_date", "owner", "notes"),
)
DEFINITIONS = (
    search_tool(OPPORTUNITY, "Find deals that match all filters. Without filters, all deals are returned."),
    CREATE,
    modify_tool(
        OPPORTUNITY,
        "Change fields of a deal. The stage, amount, probability and close date of a closed deal can't be changed.",
        modify_opportunity,
    ),
    ToolDefinition(
        name="clone_opportunity",
        description="Create a copy of a deal. ' (Clone)' is appended to its name.",
        handler=clone_opportunity,
        required=OPPORTUNITY.types("opportunity_id"),
    ),
    ToolDefinition(
        name="delete_opportunity",
        description="Delete a deal and its quotes. Its contracts are kept, without a link to the deal.",
        handler=delete_opportunity,
        required=OPPORTUNITY.types("opportunity_id"),
    ),
    ToolDefinition(
        name="view_opportunity_details",
        description="Show one deal with all its fields.",
        handler=view_opportunity_details,
        required=OPPORTUNITY.types("opportunity_id"),
    ),
    ToolDefinition(
        name="opportunity_details",
        description="The same as view_opportunity_details.",
        handler=view_opportunity_details,
        required=OPPORTUNITY.types("opportunity_id"),
    ),
    ToolDefinition(
        name="summarize_opportunities",
        description="Count the deals that match all filters and add up their amounts: in total, by stage and by owner.",
        handler=summarize_opportunities,
        optional=OPPORTUNITY.columns,
        filters=True,
    ),
)
