"""Graders that need no judge: exact, numeric, choice."""

from fractions import Fraction

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.questions.graders.choice import chosen
from pytest_crmeval.questions.graders.final_answer import final_answer, normalised
from pytest_crmeval.questions.graders.numeric import number_in, number_of
from pytest_crmeval.questions.question import Grader, Question


def graded(question: Question, reply: str) -> Attempt | None:
    """Return how a reply is graded; None if it needs a judge.

    An empty reply is not attempted. A reply that equals the reference after normalisation needs no judge.
    """
    if not reply.strip():
        return Attempt.NOT_ATTEMPTED
    if _is_right(question, reply):
        return Attempt.CORRECT
    return None if question.grader is Grader.JUDGE else Attempt.INCORRECT


def _is_right(question: Question, reply: str) -> bool:
    """Whether the final answer, or a reply without one as a whole, is one of the right answers."""
    answers = (question.answer, *question.aliases)
    if question.grader is Grader.CHOICE:
        return chosen(question, reply) == question.answer
    if question.grader is Grader.NUMERIC:
        number, tolerance = number_in(reply), Fraction(question.tolerance)
        right = [value for value in map(number_of, answers) if value is not None]
        return number is not None and any(abs(number - value) <= tolerance for value in right)
    said = final_answer(reply)
    return normalised(reply if said is None else said) in map(normalised, answers)
