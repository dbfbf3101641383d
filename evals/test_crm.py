"""CRM agents on multi-turn conversations of our own; ``--crmeval-conversations FILE`` plays others instead."""

from collections.abc import Callable

import pytest

from pytest_crmeval import Conversation, Trial


@pytest.mark.conversations("data/crm.jsonl")
def test_conversation(conversation: Conversation, evaluate: Callable[[Conversation], Trial]) -> None:
    """The agent leaves the CRM as the user asked, has looked up what was asked for, and says it as it is."""
    trial = evaluate(conversation)

    assert trial.passed, trial.explain()
