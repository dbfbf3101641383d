"""Everything that users want of the CRM."""

from collections.abc import Sequence

from pytest_crmeval.conversations.generator.intents import Scenario
from pytest_crmeval.conversations.generator.scenarios import (
    absence,
    client_questions,
    clients,
    companies,
    contacts,
    contracts,
    corrections,
    deal_questions,
    deal_sums,
    deals,
    formats,
    limits,
    omissions,
    papers,
    questions_back,
    quote_changes,
    quote_questions,
    quotes,
    trouble,
    unsettled,
)

_MODULES = (
    *(clients, client_questions, contacts, companies),
    *(deals, deal_sums, deal_questions),
    *(quotes, quote_changes, quote_questions, contracts, papers),
    *(trouble, limits, formats, questions_back, omissions, absence),
    *(unsettled, corrections),
)
MOVES: Sequence[Scenario] = tuple(move for module in _MODULES for move in module.MOVES)
"""In an order that must not change: chance goes by it."""
