"""Opportunities and quotes."""

from datetime import date
from typing import Literal

from pytest_crmeval.crm.tools.registry import (
    Amount,
    Arguments,
    Connection,
    Probability,
    Refusal,
    Text,
    entry,
    find,
    insert,
    search,
    update,
)
from pytest_crmeval.domain.json import Json

Stage = Literal["Prospecting", "Qualification", "Proposal", "Negotiation", "Closed-Won", "Closed-Lost"]
QuoteStatus = Literal["Draft", "Sent", "Approved", "Rejected", "Canceled"]
CLOSED = {"Closed-Won", "Closed-Lost"}
FROZEN = {"stage", "amount", "probability", "close_date"}


class OpportunitySearch(Arguments):
    """Filters of ``opportunity_search``."""

    opportunity_id: str | None = None
    client_id: str | None = None
    name: str | None = None
    stage: Stage | None = None
    owner: str | None = None


class NewOpportunity(Arguments):
    """Arguments of ``create_new_opportunity``."""

    name: Text
    client_id: str
    amount: Amount
    stage: Stage
    probability: Probability | None = None
    close_date: date | None = None
    owner: str | None = None
    notes: str | None = None


class OpportunityChange(Arguments):
    """Arguments of ``modify_opportunity``."""

    opportunity_id: str
    name: Text | None = None
    stage: Stage | None = None
    amount: Amount | None = None
    probability: Probability | None = None
    close_date: date | None = None
    owner: Text | None = None
    notes: Text | None = None


class QuoteSearch(Arguments):
    """Filters of ``quote_search``."""

    quote_id: str | None = None
    opportunity_id: str | None = None
    status: QuoteStatus | None = None


class NewQuote(Arguments):
    """Arguments of ``create_quote``."""

    opportunity_id: str
    amount: Amount
    status: QuoteStatus
    version: str | None = None
    valid_until: date | None = None
    quote_prefix: str | None = None


def opportunity_search(connection: Connection, arguments: OpportunitySearch) -> Json:
    """Find opportunities."""
    return search(connection, "opportunities", 'name COLLATE "C", opportunity_id', arguments.given())


def create_new_opportunity(connection: Connection, arguments: NewOpportunity) -> Json:
    """Create an opportunity at a client."""
    find(connection, "Client", arguments.client_id)
    return insert(connection, "opportunities", arguments.given())


def modify_opportunity(connection: Connection, arguments: OpportunityChange) -> Json:
    """Change an opportunity; a closed one keeps its stage, amount, probability and date."""
    row = find(connection, "Opportunity", arguments.opportunity_id)
    changes = arguments.given()
    del changes["opportunity_id"]
    if not changes:
        raise Refusal("invalid_argument", "say what to change: at least one field besides opportunity_id")
    frozen = sorted(FROZEN & changes.keys())
    if row["stage"] in CLOSED and frozen:
        raise Refusal(
            "refused_by_rule",
            f"Cannot modify closed opportunity fields {frozen} while stage is '{row['stage']}'.",
        )
    return update(connection, "Opportunity", arguments.opportunity_id, changes)


def quote_search(connection: Connection, arguments: QuoteSearch) -> Json:
    """Find quotes."""
    return search(connection, "quotes", "amount, quote_id", arguments.given())


def create_quote(connection: Connection, arguments: NewQuote) -> Json:
    """Create a quote for an opportunity."""
    find(connection, "Opportunity", arguments.opportunity_id)
    return insert(connection, "quotes", arguments.given())


ENTRIES = (
    entry(opportunity_search, OpportunitySearch, "Find deals; no filter lists all."),
    entry(create_new_opportunity, NewOpportunity, "Open a deal with an existing client."),
    entry(modify_opportunity, OpportunityChange, "Change a deal. What is closed stays closed."),
    entry(quote_search, QuoteSearch, "Find quotes, cheapest first; no filter lists all."),
    entry(create_quote, NewQuote, "Write a quote for an existing deal."),
)
