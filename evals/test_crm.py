"""CRM agents on multi-turn conversations."""

from collections.abc import Callable

import pytest

from pytest_crmeval import Conversation, Trial


@pytest.mark.conversations("data/crm.jsonl")
def test_conversation(conversation: Conversation, evaluate: Callable[[Conversation], Trial]) -> None:
    """The agent leaves the CRM as the user asked."""
    trial = evaluate(conversation)

    assert trial.passed, trial.explain()
