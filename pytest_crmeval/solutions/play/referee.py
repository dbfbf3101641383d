"""The interface that decides whether an output is right."""

from typing import Protocol

from pytest_crmeval.ports.sandbox import Execution
from pytest_crmeval.solutions.problem import CheckerFinding, CheckerStyle, OutputComparison


class Referee(Protocol):
    """Compares the outputs of programs and checkers; runs nothing."""

    def difference(self, expected: bytes, found: bytes, comparison: OutputComparison) -> str:
        """Return the first difference between the expected and the found output; empty if there is none."""
        ...

    def value_difference(self, accepted: str, found: object, tolerance: float | None) -> str:
        """Return how a function's result differs from the accepted values, a JSON list; empty if it is one of them."""
        ...

    def finding_of(self, style: CheckerStyle, execution: Execution) -> CheckerFinding:
        """Return the finding of a checker from its execution."""
        ...
