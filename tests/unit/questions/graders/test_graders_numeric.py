"""One number is read from a reply in any notation, and none if it is not clearly one."""

from fractions import Fraction

import pytest

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.questions.graders import graded
from pytest_crmeval.questions.graders.numeric import number_in, number_of
from tests.questions import asked


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("0.75", ".75"),
        ("0.75", r"\frac{3}{4}"),
        ("0.75", r"$\dfrac{3}{4}$"),
        ("0.75", "3/4."),
        ("0.75", "0.75 (3/4)"),
        ("-0.5", "-.5"),
        ("-0.5", r"-\frac{1}{2}"),
        ("-0.5", r"\frac{-1}{2}"),
        ("1000", "10^3"),
        ("1000", "10**3"),
        ("1000", "10³"),
        ("1000", r"1 \times 10^3"),
        ("1000", r"1 \cdot 10^{3}"),
        ("1000", "1{,}000"),
        ("1000", r"1\,000"),
        ("1000", "1000 = 10^3"),
        ("1000", "1000 (10^3)"),
        ("0.001", "10^{-3}"),
        ("5000", r"5 \times 10^{3}"),
        ("5000", "5 · 10^3"),
        ("5", "x = 5"),
        ("5", "5 = five"),
        ("5", "x = 5, not 7"),
        ("5", "5, not 7"),
        ("5", "5 m^2"),
        ("5", "5 m²"),
        ("5", r"5\text{ km}"),
        ("5", r"\(5\)"),
        ("5", "the sum is **5** apples"),
        ("5", "5 apples from 3 trees"),
        ("5", "5 km at -7 °C"),
        ("5", "5 (2 + 3)"),
        ("5", "5 (that is, 2 + 3 = 5)"),
        ("5", "5 (see step 2)"),
        ("5", "5 because 2 + 3 is 5, or 10 / 2"),
        ("5", "maybe 5"),
        ("90", r"90^\circ"),
        ("3.14", "3.14, rounded to 2 digits"),
        ("3.14", "3.14 ≈ 22/7"),
    ],
)
def test_one_number_is_read_in_any_notation(answer: str, said: str) -> None:
    """In LaTeX, as a power of ten, with its unit or with a reason."""
    assert Attempt.CORRECT is graded(asked("numeric", answer), f"Answer: {said}")


@pytest.mark.parametrize(
    "said",
    [
        "x = 7 or x = 5",
        "x = 5 or x = 7",
        "x = 7 and x = 5",
        "x = 7, y = 5",
        "x = 7; y = 5",
        "5, 7",
        "5; 7",
        "5 | 7",
        "5 (or 7)",
        "5 (7)",
        "5, maybe 7",
        "5 or, if both count, 7",
        "5 or seven",
        "seven or 5",
        "5 but perhaps 6",
        "5 but rather 6",
        "5 in Rome, 7 in Oslo",
        "5 of them and 7 others",
        "5 is wrong, so 7",
        "5 hours 30 minutes",
        "5 million",
        "5 Million",
        "5k",
        "5M",
        "5^3",
        "5**3",
        "5³",
        "10^5",
        "2^5",
        r"\frac{5}{8}",
        r"\frac{5}{x}",
        r"5\frac{1}{2}",
        r"5 \times 10^{3}",
        "5 · 10^3",
        "5 × 7",
        "5 1/2",
        "5½",
        "5 and a half",
        "5.7.2",
        "√5",
        r"\sqrt{5}",
        r"5\pi",
        "not 5",
        "it isn't 5",
    ],
)
def test_reply_that_is_not_clearly_five_is_wrong(said: str) -> None:
    """Two numbers, a part of a number, or one that is retracted."""
    assert Attempt.INCORRECT is graded(asked("numeric", "5"), f"Answer: {said}")


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("It was 12, but now it is 5", 5),
        ("Step 2: 5", 5),
        ("2 + 3 = 5", 5),
        ("12 or so\nSo 5.", 5),
        (".5", Fraction(1, 2)),
        ("10^3", 1000),
        ("7 or 5", None),
        ("7 to 5", None),
        ("7-5", None),
        ("5 1/2", None),
        ("5 million", None),
        ("2^5", None),
        (r"\frac{x}{5}", None),
        ("It is not 5", None),
        ("None.", None),
    ],
)
def test_last_number_counts_without_an_answer_line(reply: str, number: Fraction | None) -> None:
    """Unless it is one of two, or a part of something else."""
    assert number == number_in(reply)


@pytest.mark.parametrize(
    ("reference", "number"),
    [
        (".5", Fraction(1, 2)),
        ("10^3", 1000),
        (r"\frac{3}{4}", Fraction(3, 4)),
        ("1,234.5 km", Fraction(2469, 2)),
        ("5 million", None),
        ("5^3", None),
        ("3 or 4", None),
        ("1/0", None),
        ("five", None),
    ],
)
def test_reference_must_be_one_number(reference: str, number: Fraction | None) -> None:
    assert number == number_of(reference)


@pytest.mark.parametrize(
    "filling",
    [
        "1" * 100_000 + "=",
        "1 or " * 30_000,
        "(" * 100_000,
        "(a" * 50_000,
        "and " * 40_000,
        "5 in " * 20_000,
        "^{" * 50_000,
    ],
)
def test_padding_does_not_slow_down_the_grader(filling: str) -> None:
    """Whatever its length; otherwise the suite's time limit fails the test."""
    assert number_in(f"Answer: {filling} or 7") is None
    assert number_in(f"{filling} and not 7") is None
