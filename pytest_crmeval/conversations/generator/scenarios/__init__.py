"""All scenarios: the kinds of requests that users make."""

from collections.abc import Sequence

from pytest_crmeval.conversations.generator.intents import Scenario
from pytest_crmeval.conversations.generator.scenarios import (
    absent_records,
    ambiguous_requests,
    client_questions,
    clients,
    companies,
    contacts,
    contracts,
    deal_calculations,
    deal_questions,
    deals,
    follow_ups,
    missing_details,
    notes_and_files,
    quote_changes,
    quote_questions,
    quotes,
    refused_by_data,
    refused_formats,
    refused_values,
)

_MODULES = (
    *(clients, client_questions, contacts, companies),
    *(deals, deal_calculations, deal_questions),
    *(quotes, quote_changes, quote_questions, contracts, notes_and_files),
    *(refused_by_data, refused_values, refused_formats, ambiguous_requests, missing_details, absent_records),
    follow_ups,
)
SCENARIOS: Sequence[Scenario] = tuple(scenario for module in _MODULES for scenario in module.SCENARIOS)
"""Their order must not change: random choices depend on it."""
