"""The text that pytest shows for a failed case: the dialogue, without the source of the test."""

import pytest

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial

_BARE = "assert False\n +  where False = Trial("
"""How pytest explains ``assert trial.passed``."""


def shorten_failure(report: pytest.TestReport, call: pytest.CallInfo[None], trial: Trial) -> None:
    """Show only the dialogue if a test failed because it asserts that its trial passed.

    The source of the test and ``assert False`` with the repr of the trial add nothing. Turns that passed are folded.
    Any other failure keeps the text of pytest.
    """
    error = call.excinfo.value if call.excinfo else None
    if trial.verdict is not Verdict.FAILED or not isinstance(error, AssertionError):
        return
    said = str(error)
    if said.startswith(_BARE) or _first_line(said) == _first_line(trial.explain()):
        report.longrepr = trial.explain(folded=True)


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
