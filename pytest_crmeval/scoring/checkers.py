"""What a checker says, read from how its run ended."""

from dataclasses import dataclass
from enum import StrEnum

from pytest_crmeval.domain.problem import CheckerStyle
from pytest_crmeval.domain.program import Execution


class Opinion(StrEnum):
    """What a checker thinks of an output."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    TROUBLE = "trouble"
    """It does not say: a crash, a limit, words that nobody can read. The judge's trouble, never the program's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An opinion and its reason."""

    opinion: Opinion
    reason: str = ""


def finding_of(style: CheckerStyle, execution: Execution) -> Finding:
    """Return what a checker has found."""
    raise NotImplementedError
