"""The faults that scores name in their reasons, with the turn and the difference."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.score import Score

_TURN = re.compile(r"turn (\d+): (.*)", re.DOTALL)
_DIFFERENCE = re.compile(r"(?P<where>.*?) expected (?P<expected>.*), actual (?P<actual>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One line of the reason of a failed score."""

    score: str
    text: str
    """The line, without the number of its turn."""
    turn: int | None = None
    """None if the fault is not of a single turn."""

    @property
    def difference(self) -> tuple[str, str, str] | None:
        """The place, the expected and the actual value; None if the line does not name them."""
        if " missing: " in self.text or " too many: " in self.text:
            return None
        found = _DIFFERENCE.fullmatch(self.text)
        return (found["where"], found["expected"], found["actual"]) if found else None

    @property
    def is_lack(self) -> bool:
        """Whether something is missing."""
        return " missing: " in self.text or self.text.endswith(": was deleted")


def faults_of(scores: Sequence[Score]) -> Iterator[Fault]:
    """Yield the faults in the order of the scores; of a score without a reason, its value and threshold."""
    for score in scores:
        if not score.passed:
            for line in score.reason.splitlines() or [f"{score.value:.3f}, below {score.threshold:.3f}"]:
                found = _TURN.fullmatch(line)
                turn, text = (int(found[1]), found[2]) if found else (None, line)
                yield Fault(score=score.name, text=text, turn=turn)
