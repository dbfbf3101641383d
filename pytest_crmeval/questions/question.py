"""A question: what is asked, the right answer, how an answer is graded, and the oracle that knows it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from string import ascii_uppercase

from pytest_crmeval.domain.messages import Message, Reply, Tool


class Grader(StrEnum):
    """How an answer is compared with the right one."""

    EXACT = "exact"
    """The same words, after normalisation."""
    NUMERIC = "numeric"
    """The same number, within the tolerance."""
    CHOICE = "choice"
    """The letter of the right choice."""
    JUDGE = "judge"
    """A model is asked whether it is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A prompt with a reference answer and a grader. Its repr hides the text, which may be confidential."""

    id: str
    fingerprint: str
    """Changes when the content of the case changes."""
    text: str = field(repr=False)
    answer: str = field(repr=False)
    """The right answer; for the grader ``choice``, its letter."""
    grader: Grader
    choices: Sequence[str] = field(default=(), repr=False)
    """The choices in order; the first is A."""
    aliases: Sequence[str] = field(default=(), repr=False)
    """Other right answers."""
    tolerance: str = "0"
    """How far a number may be off, as a decimal."""
    may_abstain: bool = False
    """Whether a judge may grade an answer as not attempted."""
    category: str = ""
    tags: Sequence[str] = ()
    split: str = ""
    """``train`` or ``test`` (held out), if the suite is split."""
    confidential: bool = False
    """Whether its text must not appear on disk or in a terminal."""

    @property
    def lettered(self) -> Sequence[tuple[str, str]]:
        """The choices with their letters."""
        return tuple(zip(ascii_uppercase, self.choices, strict=False))


class QuestionOracle:
    """An agent that gives the right answer to one question, in the requested form."""

    name = "oracle"
    reply_timeout = 0

    def __init__(self, question: Question) -> None:
        self._question = question

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Say the right answer on one line, because a final answer is one line."""
        del messages, tools
        answer = " ".join(self._question.answer.split())
        if self._question.grader is not Grader.JUDGE:
            return Reply(text=f"Answer: {answer}")
        return Reply(text=f"Explanation: it is known to me.\nExact Answer: {answer}\nConfidence: 100%")
