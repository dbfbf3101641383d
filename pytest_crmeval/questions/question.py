"""A question: what is asked, the right answer, and how the answer is graded."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from string import ascii_uppercase


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
    """A prompt with a reference answer and a grader. What it says is not in its repr: it may be confidential."""

    id: str
    fingerprint: str
    """Changes when the content of the case changes."""
    text: str = field(repr=False)
    answer: str = field(repr=False)
    """The right one; of a ``choice`` its letter."""
    grader: Grader
    choices: Sequence[str] = field(default=(), repr=False)
    """What there is to choose from, the first of them is A."""
    aliases: Sequence[str] = field(default=(), repr=False)
    """Other right answers."""
    tolerance: str = "0"
    """How far a number may be off, as a decimal."""
    may_abstain: bool = False
    """Whether a judge tells not to know apart from being wrong."""
    category: str = ""
    tags: Sequence[str] = ()
    split: str = ""
    """``train`` or ``test``, if the suite tells what may be learned from apart from what is held out."""
    confidential: bool = False
    """Whether nothing of it may be seen in plain text on disk or in a terminal."""

    @property
    def lettered(self) -> Sequence[tuple[str, str]]:
        """The choices with their letters."""
        return tuple(zip(ascii_uppercase, self.choices, strict=False))
