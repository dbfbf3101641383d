"""What a judge changes: it may fail a reply that the rules pass, and never passes one that they fail."""

from collections.abc import Sequence
from dataclasses import replace

from pytest_crmeval.conversations.scorers.turns import reason_of
from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.trial import TurnOutcome

REPLY = "reply"
"""The score that a judge may change."""


def asks_judge(scores: Sequence[Score]) -> bool:
    """Whether a judge can change the verdict: `reply` is scored, and everything passes."""
    return any(score.name == REPLY for score in scores) and all(score.passed for score in scores)


def judged_scores(scores: Sequence[Score], judgement: Judgement, turns: int) -> tuple[Score, ...]:
    """Return the scores after the judgement; unchanged unless the judge may decide and finds something false."""
    faults = _faults(judgement)
    reasons = [faults.get(number, "") for number in range(1, turns + 1)]
    failed = Score(name=REPLY, value=reasons.count("") / turns, reason=reason_of(reasons))
    return tuple(failed if faults and score.name == REPLY else score for score in scores)


def judged_turns(turns: Sequence[TurnOutcome], judgement: Judgement) -> tuple[TurnOutcome, ...]:
    """Return how each turn went after the judgement."""
    faults = _faults(judgement)
    return tuple(
        replace(turn, replied=False) if number in faults else turn for number, turn in enumerate(turns, start=1)
    )


def _faults(judgement: Judgement) -> dict[int, str]:
    """Return the first false statement of each turn; nothing if the judge may not decide."""
    found: dict[int, str] = {}
    for statement, reason in judgement.false_statements if judgement.may_decide else ():
        found.setdefault(statement.turn, f'"{statement.quote}": the judge finds it false: {reason}')
    return found
