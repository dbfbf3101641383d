"""Graders of questions that need nobody's opinion: exact, numeric, choice."""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.question import Grader, Question
from pytest_crmeval.scoring.numbers import number_in, number_of
from pytest_crmeval.scoring.readings import final_answer, normalised

_BOXED = re.compile(r"\\boxed\s*\{(?:\\text\s*\{)?([^{}]*)\}+")
_LETTER = re.compile(r"[\s*_`$({\[]*(?P<letter>[A-Za-z])(?P<rest>$|[^A-Za-z0-9'].*)", re.DOTALL)
_SENTENCE = re.compile(r"\s+(?!(?:is|because|as|since)\b)\S")
"""What follows an article, and not a letter that was chosen."""
_ANOTHER = re.compile(r"\W*(?:(?:\bor\b|\band\b|[/&])\W*[A-Za-z]\b|,\W*[A-Z]\b)")
"""What follows a letter if it was not the only one."""


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


def chosen(question: Question, reply: str) -> str:
    """Return the letter that a reply chooses, or whose choice it repeats; nothing if it chooses none, or several."""
    final = final_answer(reply)
    said = reply.strip() if final is None else final
    if boxed := _BOXED.search(said):
        said = boxed[1]
    found = _LETTER.fullmatch(said)
    if found and not normalised(found["rest"]) and found["letter"].upper() in dict(question.lettered):
        return found["letter"].upper()
    for letter, choice in question.lettered:
        if normalised(said) == normalised(choice):
            return letter
    return _letter(question, found, alone=final is None) if found else ""


def _letter(question: Question, found: re.Match[str], *, alone: bool) -> str:
    """Return a letter if it is one that was chosen; ``alone``: nothing but its own choice may follow."""
    letter, rest = found["letter"].upper(), found["rest"]
    choice = dict(question.lettered).get(letter)
    if choice is None or _ANOTHER.match(rest):
        return ""
    if not normalised(rest) or normalised(rest) == normalised(choice):
        return letter
    return "" if alone or (letter in "AI" and _SENTENCE.match(rest)) else letter


_GRADERS: Mapping[Grader, Callable[[Question, str], bool]] = {
    Grader.EXACT: _is_exact,
    Grader.NUMERIC: _is_near,
    Grader.CHOICE: _is_chosen,
    Grader.JUDGE: _is_exact,
}
