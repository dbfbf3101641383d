"""Graders of questions that need nobody's opinion: exact, numeric, choice."""

from collections.abc import Callable, Mapping
from fractions import Fraction

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.questions.graders.choice import chosen
from pytest_crmeval.questions.graders.final_answer import final_answer, normalised
from pytest_crmeval.questions.graders.numeric import number_in, number_of
from pytest_crmeval.questions.question import Grader, Question


def graded(question: Question, reply: str) -> Attempt | None:
    """Return what became of a question; None if only a judge can tell.

    Whoever says nothing has not tried. Whoever says what the reference says, to the letter, needs no judge.
    """
    if not reply.strip():
        return Attempt.NOT_ATTEMPTED
    if _GRADERS[question.grader](question, reply):
        return Attempt.CORRECT
    return None if question.grader is Grader.JUDGE else Attempt.INCORRECT


def _is_exact(question: Question, reply: str) -> bool:
    """Whether the final answer, or a reply that is nothing but an answer, is one of the right ones."""
    said = final_answer(reply)
    right = {normalised(answer) for answer in (question.answer, *question.aliases)}
    return normalised(reply if said is None else said) in right


def _is_near(question: Question, reply: str) -> bool:
    said = number_in(reply)
    wanted = (number_of(answer) for answer in (question.answer, *question.aliases))
    tolerance = Fraction(question.tolerance)
    return said is not None and any(right is not None and abs(said - right) <= tolerance for right in wanted)


def _is_chosen(question: Question, reply: str) -> bool:
    return chosen(question, reply) == question.answer


_GRADERS: Mapping[Grader, Callable[[Question, str], bool]] = {
    Grader.EXACT: _is_exact,
    Grader.NUMERIC: _is_near,
    Grader.CHOICE: _is_chosen,
    Grader.JUDGE: _is_exact,
}
