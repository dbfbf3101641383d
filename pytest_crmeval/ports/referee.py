"""Who knows whether an output is right."""

from typing import Protocol

from pytest_crmeval.domain.problem import CheckerStyle, Comparison, Finding
from pytest_crmeval.domain.program import Execution


class Referee(Protocol):
    """Looks at what programs and checkers have said; runs nothing."""

    def difference(self, expected: bytes, found: bytes, comparison: Comparison) -> str:
        """Return the first difference of an output from the right one; nothing if there is none."""
        ...

    def finding_of(self, style: CheckerStyle, execution: Execution) -> Finding:
        """Return what a checker has found, from how its run ended."""
        ...
