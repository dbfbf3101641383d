"""CRM agents on hard conversations, which separate strong models: large CRMs, company rules, changes by other users."""

from collections.abc import Callable

import pytest

from pytest_crmeval import Conversation, Trial


@pytest.mark.conversations("data/crm-hard.jsonl")
def test_hard_conversation(conversation: Conversation, evaluate: Callable[[Conversation], Trial]) -> None:
    """The agent does what the rules of the company allow, with records that it has selected and read itself."""
    trial = evaluate(conversation)

    assert trial.passed, trial.explain()
