"""How each turn of a trial went, for the metrics; independent of the scores."""

from collections.abc import Iterator

from pytest_crmeval.conversations.scorers.crm_state import crm_state
from pytest_crmeval.conversations.scorers.reply import reply_faults
from pytest_crmeval.conversations.scorers.tool_calls import call_faults
from pytest_crmeval.conversations.scorers.turns import Played, turns_of
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.trial import TurnOutcome
from pytest_crmeval.ports.scorer import Evidence


def outcomes_of(case: Conversation, evidence: Evidence) -> Iterator[TurnOutcome]:
    """Yield how each turn went."""
    turns = list(turns_of(case, evidence))
    right = all(map(_wrote, turns)) or crm_state(case, evidence).passed
    faults = zip(turns, call_faults(case, evidence), reply_faults(case, evidence), strict=True)
    for turn, called, replied in faults:
        yield TurnOutcome(
            tool=turn.expected.tool,
            called=not called and (right or _wrote(turn)),
            replied=not replied,
            steps=turn.exchange.steps,
            errors=sum(result.refused for _, result in turn.calls if turn.expectation.succeeds),
        )


def _wrote(turn: Played) -> bool:
    """Whether a turn wrote what it should, even if the final state is wrong."""
    return all(not (part.writes and part.expectation.succeeds) or part.made is not None for part in turn.parts)
