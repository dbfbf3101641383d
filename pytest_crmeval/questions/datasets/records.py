"""A question as it stands in a file, and what makes it one that can be asked."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from string import ascii_uppercase

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.questions.graders.final_answer import normalised
from pytest_crmeval.questions.graders.named import graded
from pytest_crmeval.questions.graders.numeric import number_of
from pytest_crmeval.questions.oracle import QuestionOracle
from pytest_crmeval.questions.question import Grader, Question

_FEWEST = 2


class FieldError(Exception):
    """A question that can't be asked, or a file that can't be read; the message names the field."""

    def __init__(self, field: str, what: str, line: int = 0) -> None:
        super().__init__(f"{field}: {what}" if field else what)
        self.line = line
        """Where, if nobody else knows."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where a question is, and how to read it."""

    line: int
    offset: int
    row: int
    question: Callable[[], Question]
    """Reads it; FieldError if it is wrong."""


def fingerprint(*content: object) -> str:
    """Return what changes when the content changes."""
    return sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def checked(question: Question, *, asked: str = "question", answered: str = "answer") -> Question:
    """Return a question that somebody can answer; FieldError if nobody can. ``asked`` and ``answered`` are fields."""
    if not question.text.strip():
        raise FieldError(asked, "is empty")
    if question.grader is Grader.CHOICE:
        _check_choices(question, answered)
    elif question.choices:
        raise FieldError("choices", f"are of no use with the grader {question.grader}")
    elif question.grader is Grader.NUMERIC:
        _check_numbers(question, answered)
    elif not all(normalised(answer) for answer in (question.answer, *question.aliases)):
        raise FieldError(answered, "has no letter and no digit: nothing could be compared with it")
    if question.grader is not Grader.NUMERIC and Fraction(question.tolerance):
        raise FieldError("tolerance", f"is of no use with the grader {question.grader}")
    if question.may_abstain and question.grader is not Grader.JUDGE:
        raise FieldError("may_abstain", "only a judge tells not to know apart from being wrong")
    if graded(question, QuestionOracle(question).reply((), ()).text) is not Attempt.CORRECT:
        raise FieldError(answered, "could not be recognised if it were given; write it as a reply would say it")
    return question


def _check_choices(question: Question, answered: str) -> None:
    count = len(question.choices)
    if not _FEWEST <= count <= len(ascii_uppercase):
        raise FieldError("choices", f"there must be {_FEWEST} to {len(ascii_uppercase)} of them, found {count}")
    plain = [normalised(choice) for choice in question.choices]
    if "" in plain or len(set(plain)) < count:
        raise FieldError("choices", "must be told apart: one is empty, or two are the same")
    if question.aliases:
        raise FieldError("aliases", "one letter is right, and no other")
    if question.answer not in ascii_uppercase[:count] or len(question.answer) != 1:
        raise FieldError(answered, f"must be a letter from A to {ascii_uppercase[count - 1]}")


def _check_numbers(question: Question, answered: str) -> None:
    if any(number_of(answer) is None for answer in (question.answer, *question.aliases)):
        raise FieldError(answered, "must be one number, in digits")
