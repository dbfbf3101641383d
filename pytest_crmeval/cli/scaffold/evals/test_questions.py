"""Questions with one right answer: one test per agent and question."""

import pytest


@pytest.mark.questions("data/questions.jsonl")
def test_question(question, evaluate):
    trial = evaluate(question)
    assert trial.passed, trial.explain()
