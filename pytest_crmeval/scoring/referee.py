"""Whether the output of a program is right: a referee for ``play.solution``."""

from pytest_crmeval.scoring.checkers import finding_of
from pytest_crmeval.scoring.outputs import difference

__all__ = ["difference", "finding_of"]
