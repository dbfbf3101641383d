"""Conversations with a CRM: one test per agent and conversation."""

import pytest


@pytest.mark.conversations("data/crm.jsonl")
def test_conversation(conversation, evaluate):
    trial = evaluate(conversation)
    assert trial.passed, trial.explain()
