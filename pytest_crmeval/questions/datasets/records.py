"""A question in a file, and the checks that it can be asked and answered."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from string import ascii_uppercase

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.questions.graders import graded
from pytest_crmeval.questions.graders.final_answer import normalised
from pytest_crmeval.questions.graders.numeric import number_of
from pytest_crmeval.questions.question import Grader, Question, QuestionOracle

_FEWEST = 2


class QuestionError(Exception):
    """A question that can't be asked, or a file that can't be read; the message names the field."""

    def __init__(self, field: str, what: str, line: int = 0) -> None:
        super().__init__(f"{field}: {what}" if field else what)
        self.line = line
        """Where, if only this error knows."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where a question is in its file, and how to read it."""

    line: int
    offset: int
    row: int
    question: Callable[[], Question]
    """Reads it; FieldError if it is wrong."""


def fingerprint(*content: object) -> str:
    """Return a hash of the content."""
    return sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def checked(question: Question, *, asked: str = "question", answered: str = "answer") -> Question:
    """Return the question if it can be answered, otherwise raise FieldError.

    ``asked`` and ``answered`` are the names of its fields in the file.
    """
    if not question.text.strip():
        raise QuestionError(asked, "is empty")
    if question.grader is Grader.CHOICE:
        _check_choices(question, answered)
    elif question.choices:
        raise QuestionError("choices", f"do not apply to the grader {question.grader}")
    elif question.grader is Grader.NUMERIC:
        if any(number_of(answer) is None for answer in (question.answer, *question.aliases)):
            raise QuestionError(answered, "must be one number, in digits")
    elif not all(normalised(answer) for answer in (question.answer, *question.aliases)):
        raise QuestionError(answered, "has neither a letter nor a digit, so no reply could match it")
    if question.grader is not Grader.NUMERIC and Fraction(question.tolerance):
        raise QuestionError("tolerance", f"does not apply to the grader {question.grader}")
    if question.may_abstain and question.grader is not Grader.JUDGE:
        raise QuestionError("may_abstain", "only a judge can distinguish not knowing from being wrong")
    if graded(question, QuestionOracle(question).reply((), ()).text) is not Attempt.CORRECT:
        raise QuestionError(answered, "would not be recognised in a reply; write it as a reply would state it")
    return question


def _check_choices(question: Question, answered: str) -> None:
    count = len(question.choices)
    if not _FEWEST <= count <= len(ascii_uppercase):
        raise QuestionError("choices", f"must be {_FEWEST} to {len(ascii_uppercase)}, found {count}")
    plain = [normalised(choice) for choice in question.choices]
    if "" in plain or len(set(plain)) < count:
        raise QuestionError("choices", "must be different and not empty")
    if question.aliases:
        raise QuestionError("aliases", "do not apply to the grader choice: one letter is right")
    if question.answer not in ascii_uppercase[:count] or len(question.answer) != 1:
        raise QuestionError(answered, f"must be a letter from A to {ascii_uppercase[count - 1]}")
