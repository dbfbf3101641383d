"""Graders accept equivalent answers and reject others."""

import pytest

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.questions.graders import graded
from pytest_crmeval.questions.graders.final_answer import confidence_in, final_answer
from pytest_crmeval.questions.question import Question, QuestionOracle
from tests.questions import asked

RIVER = asked("exact", "the Nile", aliases=("River Nile",))
TEXT = asked("exact", "São Paulo")
PRICE = asked("numeric", "1234.5")
NEGATIVE = asked("numeric", "-7")
HALF = asked("numeric", "0.5")
ROUGH = asked("numeric", "3.1416", tolerance="0.001")
HUGE = asked("numeric", "12345678901")
CHOICES = ("Rome", "A cat", "Paris", "Paris, Texas")
LETTER = asked("choice", "C", choices=CHOICES)
BLOOD = ("O", "A", "B", "AB")
BLOOD_A, BLOOD_B = (asked("choice", letter, choices=BLOOD) for letter in "AB")
ARTICLE = asked("choice", "A", choices=("Rome", "Oslo"))


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        (RIVER, "Answer: Nile"),
        (RIVER, "nile"),
        (RIVER, "**Answer:** The **Nile**."),
        (RIVER, "Some thoughts.\n\nFinal answer: River  Nile"),
        (RIVER, "Answer: Congo\nNo, wait.\nAnswer: “Nile”"),
        (RIVER, "ANSWER:\nNile"),
        (RIVER, "Answer:\n> **Nile**"),
        (RIVER, "So the answer is the Nile."),
        (RIVER, r"Answer: $\boxed{\text{Nile}}$"),
        (RIVER, "Exact Answer: `Nile`\nConfidence: 90%"),
        (TEXT, "Answer: SÃO PAULO"),
        (TEXT, "Answer: Sa\u0303o\u00a0Paulo"),
        (PRICE, "Answer: 1,234.50"),
        (PRICE, "Answer: $1,234.5 in total"),
        (PRICE, "Answer: 1 234.5 USD"),
        (PRICE, "Answer: 1\u202f234,5 €"),
        (PRICE, "Answer: 1'234.5"),
        (PRICE, "**Answer: 1234.5 km**"),
        (PRICE, "Answer: 1200 + 34.5 = 1234.5"),
        (PRICE, "First 12, then 1234.5."),
        (PRICE, "Answer: 1234.5 (of 2000)"),
        (PRICE, "Answer: 1.2345e3"),
        (PRICE, "Answer: 1.2345 × 10^3"),
        (PRICE, "Answer: 2469/2"),
        (NEGATIVE, "Answer: \u22127 °C"),
        (NEGATIVE, "It is -7."),
        (HALF, "Answer: 1/2"),
        (HALF, "Answer: 0,5"),
        (ROUGH, "Answer: 3.142"),
        (HUGE, "Answer: 12,345,678,901"),
        (LETTER, "Answer: C"),
        (LETTER, "answer: c"),
        (LETTER, "**Answer: (C)**"),
        (LETTER, "Answer: **C**) Paris"),
        (LETTER, "Answer: C. Paris, of course"),
        (LETTER, "A or B?\nAnswer: B\nOn second thoughts:\nAnswer: C"),
        (LETTER, r"Answer: $\boxed{C}$"),
        (LETTER, "Answer: Paris"),
        (LETTER, "The answer is C because it is the capital"),
        (LETTER, "C"),
        (LETTER, "(c)"),
        (LETTER, "C) Paris"),
        (BLOOD_A, "Answer: A"),
        (BLOOD_A, "Answer: O"),
        (BLOOD_A, "a"),
        (BLOOD_B, r"Answer: \boxed{B}"),
        (BLOOD_B, "Answer: B) A"),
        (ARTICLE, "Answer: A is right"),
        (ARTICLE, "Answer: A"),
    ],
)
def test_equivalent_answer_is_correct(question: Question, reply: str) -> None:
    assert Attempt.CORRECT is graded(question, reply)


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        (RIVER, "Answer: Congo"),
        (RIVER, "Answer: Nile\nNo, wait.\nAnswer: Congo"),
        (RIVER, "Answer: Nile or Congo"),
        (RIVER, "It might be the Nile."),
        (TEXT, "Answer: Sao Paulo"),
        (PRICE, "Answer: 12345"),
        (PRICE, "Answer: 1234"),
        (PRICE, "Answer: -1234.5"),
        (PRICE, "1234.5 is what I thought, but it is 99"),
        (PRICE, "Answer: about a thousand"),
        (PRICE, "Answer: 1234.5 or 99"),
        (PRICE, "Answer: 1234.5 to 1300 km"),
        (PRICE, "Answer: 1234.5-1300"),
        (NEGATIVE, "Answer: 7"),
        (HALF, "Answer: 1/0"),
        (HALF, "Answer: 5"),
        (ROUGH, "Answer: 3.14"),
        (HUGE, "Answer: 12,345,678,902"),
        (HUGE, "Answer: 1.2345678901e10 + 1 = 12345678902"),
        (LETTER, "Answer: B"),
        (LETTER, "Answer: E"),
        (LETTER, "Answer: C or D"),
        (LETTER, "Answer: C, D"),
        (LETTER, "Answer: Paris, Texas"),
        (LETTER, "Answer: none of them"),
        (LETTER, "C is tempting, but D is right"),
        (LETTER, "Certainly!"),
        (BLOOD_B, "Answer: A"),
        (BLOOD_B, "Answer: A B"),
        (BLOOD_A, "Answer: B"),
        (BLOOD_A, "Answer: AB"),
        (ARTICLE, "Answer: A cat"),
        (ARTICLE, "A capital is not easy to name"),
    ],
)
def test_different_answer_is_wrong(question: Question, reply: str) -> None:
    assert Attempt.INCORRECT is graded(question, reply)


@pytest.mark.parametrize("grader", ["exact", "numeric", "choice", "judge"])
@pytest.mark.parametrize("reply", ["", " \n"])
def test_empty_reply_is_not_attempted(grader: str, reply: str) -> None:
    assert Attempt.NOT_ATTEMPTED is graded(asked(grader, "C", choices=CHOICES), reply)


@pytest.mark.parametrize(
    ("reply", "attempt"),
    [
        ("Exact Answer: Neil Armstrong\nConfidence: 99%", Attempt.CORRECT),
        ("Exact Answer: Armstrong, Neil", None),
        ("Exact Answer: Buzz Aldrin", None),
    ],
)
def test_judge_is_needed_unless_the_answer_equals_the_reference(reply: str, attempt: Attempt | None) -> None:
    assert attempt is graded(asked("judge", "Neil Armstrong"), reply)


@pytest.mark.parametrize(
    "question",
    [
        asked("exact", "R2-D2"),
        asked("numeric", "-1,000.25"),
        asked("choice", "B", choices=("x", "Answer: A")),
        *(asked("choice", letter, choices=BLOOD) for letter in "ACD"),
        asked("exact", "two\nlines"),
        asked("judge", "three\n\nor more\r\nlines"),
        asked("exact", "#1 Crush"),
        asked("judge", "The Answer: 42"),
        asked("judge", "O'Brien (the elder)"),
    ],
    ids=lambda question: question.answer,
)
def test_oracle_is_always_correct(question: Question) -> None:
    reply = QuestionOracle(question).reply((), ()).text

    assert Attempt.CORRECT is graded(question, reply)


@pytest.mark.parametrize(
    "reply",
    [
        "x" * 200_000,
        "Answer: " + "1" * 200_000,
        "answer " * 40_000,
        "1," * 50_000,
        "*" * 99_999,
        "answer" + " " * 200_000 + "x",
    ],
)
def test_no_reply_slows_down_a_grader(reply: str) -> None:
    """However odd it is; otherwise the suite's time limit fails the test."""
    for grader, answer in (("exact", "x"), ("numeric", "1"), ("choice", "C")):
        assert Attempt.INCORRECT is graded(asked(grader, answer, choices=CHOICES if grader == "choice" else ()), reply)


def test_last_answer_counts() -> None:
    """An answer in a sentence counts if there is no answer line."""
    assert "b" == final_answer("Answer: a\nAnswer: b\nThe answer is c")
    assert "c." == final_answer("The answer is b, or the answer is c.\nthe answer is c.")
    assert final_answer("There is no telling.") is None


@pytest.mark.parametrize(
    ("reply", "confidence"),
    [
        ("Confidence: 85%", 0.85),
        ("**Confidence:** 85 %", 0.85),
        ("confidence = 100", 1.0),
        ("Confidence: 0.85", 0.85),
        ("Confidence: 0.5%", 0.005),
        ("My confidence is 70%", 0.7),
        ("Confidence: 10%\nConfidence: 90%", 0.9),
        ("Confidence: 90/100", 0.9),
        ("Confidence: 80 out of 100", 0.8),
        ("Confidence: 90, as far as I know", 0.9),
        ("Confidence: 90.", 0.9),
        ("Confidence: 9/10", None),
        ("Confidence: 9 / 10", None),
        ("Confidence: 8 out of 10", None),
        ("Confidence: 8 of 10", None),
        ("Confidence: 0,9", None),
        ("Confidence: 1000", None),
        ("Confidence: 90/1000", None),
        ("Confidence: 80-90%", None),
        ("Confidence: 80% to 90%", None),
        ("Confidence: 150%", None),
        ("Confidence: high", None),
        ("I am confident.", None),
    ],
)
def test_stated_confidence_is_read(reply: str, confidence: float | None) -> None:
    """In percent, or as a share; the last one counts."""
    assert confidence == confidence_in(reply)
