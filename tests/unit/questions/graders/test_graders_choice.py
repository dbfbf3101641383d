"""One letter is read from a reply in any notation, and none if it is not clearly one."""

import pytest

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.questions.graders import graded
from pytest_crmeval.questions.graders.choice import chosen
from tests.questions import asked

CHOICES = ("Rome", "A cat", "Paris", "Paris, Texas")
LETTER = asked("choice", "C", choices=CHOICES)
B = asked("choice", "B", choices=("Rome", "Vitamin C", "Oslo", r"\(x^2\)"))
MANY = asked("choice", "B", choices=tuple(f"the {n}th" for n in range(10)))


@pytest.mark.parametrize(
    "reply",
    [
        "The answer is: B",
        "The answer is: **B**",
        'Answer: "B"',
        "Answer: 'B'",
        "Answer: \u201cB\u201d",
        r"Answer: \(B\)",
        r"Answer: $\text{B}$",
        r"Answer: $\boxed{\text{B}}$",
        "Answer: Option B",
        "Answer: option (B).",
        "Option B",
        r"Answer: \boxed{A}? No. \boxed{B}",
        r"Either \boxed{A} or not. And so on, and it is \boxed{B}",
        r"Answer: $\boxed{B}$ (Vitamin C)",
        r"It is $\boxed{B}$, $\boxed{B}$.",
        r"So it is $\boxed{B}$, which is what was asked.",
        "Answer: B, not C",
        "Answer: B rather than C",
        "Answer: B (Vitamin C)",
        "Answer: B, vitamin C of course",
        "Answer: B is a good one",
        "Answer: B. A well-known one",
        "Answer: B because it melts at 190 °C",
    ],
)
def test_one_letter_is_read_in_any_notation(reply: str) -> None:
    """Also with its choice, with a reason, or if others are ruled out."""
    assert Attempt.CORRECT is graded(B, reply)


@pytest.mark.parametrize(
    "said",
    [
        "B; C",
        "B C",
        "B + C",
        "B|C",
        "B - C",
        "B, c",
        "B, C",
        "B/a",
        "B or maybe C",
        "B or Oslo",
        "B or neither",
        "B and also C",
        "B and perhaps a",
        "B is wrong, so C",
        "B is wrong",
        "B isn't right",
        "B? No.",
        "B) Oslo",
        "not B",
        "A B",
        r"\boxed{B} or \boxed{C}",
        r"\boxed{C}, \boxed{B}",
        r"\boxed{C} or maybe \boxed{B}",
        r"\boxed{B} or C",
        r"$\boxed{B}$; C",
        r"\boxed{B}? No. \boxed{A}",
    ],
)
def test_reply_that_is_not_clearly_one_letter_is_wrong(said: str) -> None:
    """Two letters, one with the text of another, or one that is retracted."""
    assert Attempt.INCORRECT is graded(B, f"Answer: {said}")


def test_thinking_aloud_names_no_letter() -> None:
    assert ["B", "", "I"] == [chosen(MANY, f"Answer: {said}") for said in ("B, I think", "B, I", "I")]


def test_choice_in_latex_can_be_repeated() -> None:
    assert ["D", "D", "D"] == [chosen(B, f"Answer: {said}") for said in (r"\(x^2\)", "x^2", r"D) \(x^2\)")]


@pytest.mark.parametrize(
    "filling", ["B " * 50_000, "," * 100_000, "not " * 30_000, r"\boxed{B} " * 10_000, "(" * 99_999]
)
def test_padding_does_not_slow_down_the_grader(filling: str) -> None:
    """Whatever its length; otherwise the suite's time limit fails the test."""
    assert "" == chosen(B, f"Answer: B{filling} or {filling} C")


def test_no_letter_is_read_from_several() -> None:
    assert ["C", "", "", ""] == [chosen(LETTER, said) for said in ("Answer: C", "Answer: C/D", "Answer: X", "Hm.")]
