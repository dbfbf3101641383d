"""Questions with one answer each; ``--crmeval-questions FILE --crmeval-suite NAME`` asks other questions instead."""

from collections.abc import Callable

import pytest

from pytest_crmeval import Question, Trial


@pytest.mark.questions("data/questions.jsonl")
def test_question(question: Question, evaluate: Callable[[Question], Trial]) -> None:
    """The agent gives the right answer in the requested form."""
    trial = evaluate(question)

    assert trial.passed, trial.explain()


@pytest.mark.questions("data/browse.csv", suite="browsecomp", confidential=True)
def test_browsecomp(question: Question, evaluate: Callable[[Question], Trial]) -> None:
    """The agent answers questions that take several steps of research. They are encrypted, and stay so."""
    trial = evaluate(question)

    assert trial.passed, trial.explain()
