"""CRM agents on multi-turn conversations; ``--crmeval-conversations FILE`` plays other conversations instead."""

from collections.abc import Callable

import pytest

from pytest_crmeval import Conversation, Trial


@pytest.mark.conversations("data/crm.jsonl")
def test_conversation(conversation: Conversation, evaluate: Callable[[Conversation], Trial]) -> None:
    """The agent changes the CRM as requested, looks up what the user asks for, and reports it truthfully."""
    trial = evaluate(conversation)

    assert trial.passed, trial.explain()
