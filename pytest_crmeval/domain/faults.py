"""What scores find wrong, fault by fault: in which turn, and where something else should be."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.score import Score

_TURN = re.compile(r"turn (\d+): (.*)", re.DOTALL)
_DIFFERENCE = re.compile(r"(?P<where>.*?) expected (?P<expected>.*), actual (?P<actual>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One line of why a score is not reached."""

    score: str
    text: str
    """The line, without the number of its turn."""
    turn: int | None = None
    """None if the whole is wrong, and not one turn of it."""

    @property
    def difference(self) -> tuple[str, str, str] | None:
        """Where, what should be there, and what is; None if it is no such line."""
        if " missing: " in self.text or " too many: " in self.text:
            return None
        found = _DIFFERENCE.fullmatch(self.text)
        return (found["where"], found["expected"], found["actual"]) if found else None

    @property
    def is_lack(self) -> bool:
        """Whether something should be there, and is not."""
        return " missing: " in self.text or self.text.endswith(": was deleted")


def faults_of(scores: Sequence[Score]) -> Iterator[Fault]:
    """Yield what is wrong, in the order of the scores; of a score that gives no reason, how far it is off."""
    for score in scores:
        if not score.passed:
            for line in score.reason.splitlines() or [f"{score.value:.3f}, below {score.threshold:.3f}"]:
                yield _fault(score.name, line)


def _fault(score: str, line: str) -> Fault:
    found = _TURN.fullmatch(line)
    return Fault(score=score, text=found[2], turn=int(found[1])) if found else Fault(score=score, text=line)
