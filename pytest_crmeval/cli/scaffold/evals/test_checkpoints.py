"""Programs written by the checkpoints of a code model: one test per solution file."""

import pytest


@pytest.mark.solutions("data/checkpoints", problems="data/problems.jsonl")
def test_solutions(solutions, evaluate):
    trial = evaluate(solutions)
    assert trial.passed, trial.explain()
