"""Sample checkpoints and problems; ``--crmeval-solutions=DIR`` evaluates other checkpoints instead."""

from collections.abc import Callable

import pytest

from pytest_crmeval import SolutionFile, Trial


@pytest.mark.solutions("data/checkpoints", problems="data/problems.jsonl")
def test_solutions(solutions: SolutionFile, evaluate: Callable[[SolutionFile], Trial]) -> None:
    """Each program of the checkpoint is run on the tests of its problem; gates decide what is enough."""
    trial = evaluate(solutions)

    assert trial.passed, trial.explain()
