"""A checker's answer is read, or it is recognised that there is none."""

import pytest

from pytest_crmeval.ports.sandbox import Execution, Termination
from pytest_crmeval.solutions.problem import JUDGE_MESSAGE, CheckerFinding, CheckerOpinion, CheckerStyle
from pytest_crmeval.solutions.referee import finding_of

ACCEPTED = CheckerFinding(opinion=CheckerOpinion.ACCEPTED)


def printed(stdout: str, exit_code: int = 0, stderr: str = "") -> CheckerFinding:
    """Return what a checker finds that prints its verdict."""
    said = Execution(ending=Termination.EXITED, exit_code=exit_code, stdout=stdout.encode(), stderr=stderr.encode())
    return finding_of(CheckerStyle.STDOUT, said)


def coded(style: CheckerStyle, exit_code: int, stderr: str = "", message: bytes = b"") -> CheckerFinding:
    """Return what a checker finds whose exit code is its verdict."""
    named = {JUDGE_MESSAGE: message} if message else {}
    said = Execution(ending=Termination.EXITED, exit_code=exit_code, stderr=stderr.encode(), files=named)
    return finding_of(style, said)


@pytest.mark.parametrize("stdout", ["1", "1\n", "100", "1.0", "1\nall 5 numbers are there", "looked\n1"])
def test_full_marks_accept(stdout: str) -> None:
    assert ACCEPTED == printed(stdout)


@pytest.mark.parametrize(
    ("stdout", "reason"),
    [
        ("0", "it printed 0"),
        ("0\n", "it printed 0"),
        ("0\nno path\nat all", "it printed 0: no path at all"),
        ("0.2", "it printed 0.2"),
        ("50", "it printed 50"),
    ],
)
def test_anything_less_rejects(stdout: str, reason: str) -> None:
    """A part of the marks is not all of them."""
    assert CheckerFinding(opinion=CheckerOpinion.REJECTED, reason=reason) == printed(stdout)
    assert CheckerOpinion.REJECTED is printed(stdout, exit_code=1).opinion


@pytest.mark.parametrize("stdout", ["", "\n", "nan", "-1", "101", "OK", "maybe 1", "1\n0", "inf", "1e0", "²"])
def test_unreadable_output_of_a_checker_is_a_failure(stdout: str) -> None:
    assert CheckerOpinion.TROUBLE is printed(stdout).opinion


def test_a_crash_is_trouble() -> None:
    """With the exception, for who has to mend the checker."""
    found = printed("", 1, "Traceback (most recent call last):\n  ...\nIndexError: list index out of range\n")

    reason = "it printed nothing instead of 1 or 0 (exit code 1; IndexError: list index out of range)"
    assert CheckerFinding(opinion=CheckerOpinion.TROUBLE, reason=reason) == found


def test_full_marks_before_a_crash_are_trouble() -> None:
    """Who can't end has not looked at everything."""
    assert CheckerOpinion.TROUBLE is printed("1", 1).opinion


@pytest.mark.parametrize("style", CheckerStyle)
@pytest.mark.parametrize("ending", [ending for ending in Termination if ending is not Termination.EXITED])
def test_a_limit_or_a_signal_is_trouble(style: CheckerStyle, ending: Termination) -> None:
    found = finding_of(style, Execution(ending=ending, stdout=b"1"))

    assert CheckerOpinion.TROUBLE is found.opinion
    assert found.reason


@pytest.mark.parametrize(("style", "code"), [(CheckerStyle.TESTLIB, 0), (CheckerStyle.KATTIS, 42)])
def test_an_exit_code_accepts(style: CheckerStyle, code: int) -> None:
    assert ACCEPTED == coded(style, code, "ok 3 numbers")


@pytest.mark.parametrize(
    ("style", "code", "reason"),
    [
        (CheckerStyle.TESTLIB, 1, "wrong answer"),
        (CheckerStyle.TESTLIB, 2, "wrong format"),
        (CheckerStyle.TESTLIB, 4, "more output than is expected"),
        (CheckerStyle.KATTIS, 43, "wrong answer"),
    ],
)
def test_an_exit_code_rejects(style: CheckerStyle, code: int, reason: str) -> None:
    assert CheckerFinding(opinion=CheckerOpinion.REJECTED, reason=reason) == coded(style, code)
    assert CheckerFinding(opinion=CheckerOpinion.REJECTED, reason="3rd is 5") == coded(style, code, "3rd\n is 5\n")


def test_reason_of_a_validator_is_read_from_its_file() -> None:
    found = coded(CheckerStyle.KATTIS, 43, "noise", message=b"case 3: too long\n")

    assert CheckerFinding(opinion=CheckerOpinion.REJECTED, reason="case 3: too long") == found


@pytest.mark.parametrize(
    ("style", "code"),
    [
        (CheckerStyle.TESTLIB, 3),
        (CheckerStyle.TESTLIB, 7),
        (CheckerStyle.TESTLIB, 42),
        (CheckerStyle.TESTLIB, 127),
        (CheckerStyle.KATTIS, 0),
        (CheckerStyle.KATTIS, 1),
    ],
)
def test_other_exit_codes_are_checker_errors(style: CheckerStyle, code: int) -> None:
    """A validator that ends with 0 or 1 has forgotten to say, or crashed."""
    assert CheckerOpinion.TROUBLE is coded(style, code).opinion


def test_zero_and_a_crash_is_trouble() -> None:
    crashed = b"Traceback (most recent call last):\nIndexError: list index out of range\n"
    run = Execution(ending=Termination.EXITED, exit_code=1, stdout=b"0\n", stderr=crashed)

    found = finding_of(CheckerStyle.STDOUT, run)
    assert (CheckerOpinion.TROUBLE, "it printed 0, but failed (exit code 1; IndexError: list index out of range)") == (
        found.opinion,
        found.reason,
    )
    quiet = Execution(ending=Termination.EXITED, exit_code=1, stdout=b"0\n")
    assert CheckerOpinion.REJECTED is finding_of(CheckerStyle.STDOUT, quiet).opinion
