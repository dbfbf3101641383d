"""Whether the output of a program is right: a referee for ``play.solution``."""

from pytest_crmeval.solutions.checkers import finding_of
from pytest_crmeval.solutions.outputs import difference

__all__ = ["difference", "finding_of"]
