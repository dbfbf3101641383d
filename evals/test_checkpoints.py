"""Sample checkpoints of our own, judged by problems of our own; ``--crmeval-solutions=DIR`` judges others instead."""

from collections.abc import Callable

import pytest

from pytest_crmeval import SolutionFile, Trial


@pytest.mark.solutions("data/checkpoints", problems="data/problems.jsonl")
def test_solutions(solutions: SolutionFile, evaluate: Callable[[SolutionFile], Trial]) -> None:
    """The programs of the checkpoint are judged, each by the tests of its problem; gates decide what is enough."""
    trial = evaluate(solutions)

    assert trial.passed, trial.explain()
