"""Families of company rules: each adds its rule to the policy, and makes requests that the rule changes or forbids."""

from collections.abc import Callable, Sequence

from pytest_crmeval.conversations.generator.hard.policies import forbidden, new_records, quotes, stages
from pytest_crmeval.conversations.generator.hard.request import Block
from pytest_crmeval.conversations.generator.hard.scene import Scene

FAMILIES: Sequence[Callable[[Scene], list[Block]]] = (
    quotes.largest_discount,
    quotes.approval_limit,
    quotes.cancel_instead_of_delete,
    quotes.longest_validity,
    stages.probability_for_stage,
    stages.highest_probability,
    stages.reason_for_loss,
    stages.follow_up_date,
    new_records.currency,
    new_records.contract_terms,
    new_records.names_of_deals,
    new_records.owners_by_industry,
    forbidden.key_accounts,
    forbidden.frozen_dates,
    forbidden.confidential_prices,
    forbidden.large_contracts,
    forbidden.inactive_clients,
)
"""Each family has a rule of its own."""
CLASHES: Sequence[set[Callable[[Scene], list[Block]]]] = ({new_records.contract_terms, forbidden.large_contracts},)
"""Families whose rules apply to the same requests."""
