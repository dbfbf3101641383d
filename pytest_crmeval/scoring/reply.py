"""Whether the replies say what the user asked for, and nothing that is not so."""

from collections.abc import Iterator

from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.score import Score
from pytest_crmeval.scoring.facts import NOTHING, facts_of
from pytest_crmeval.scoring.grounds import Grounds
from pytest_crmeval.scoring.mentions import read
from pytest_crmeval.scoring.turns import Played, turns_of
from pytest_crmeval.scoring.wording import says_failed, says_no, says_none


def reply(case: Conversation, evidence: Evidence) -> Score:
    """Score the share of turns whose reply is right; all of them must be."""
    faults = list(reply_faults(case, evidence))
    told = [f"turn {number}: {fault}" for number, fault in enumerate(faults, start=1) if fault]
    return Score(name="reply", value=1 - len(told) / len(faults), reason="\n".join(told))


def reply_faults(case: Conversation, evidence: Evidence) -> Iterator[str]:
    """Yield for each turn what is wrong with its reply; empty if nothing is."""
    grounds = Grounds(case.now.date().isoformat())
    for turn in turns_of(case, evidence):
        grounds.add(turn.exchange.messages)
        yield _fault(turn, grounds)


def _fault(turn: Played, grounds: Grounds) -> str:
    text = turn.exchange.reply
    if not text.strip():
        return "it was still calling tools when its steps ran out" if turn.exchange.cut else "it said nothing"
    if not turn.expectation.succeeds and not says_no(text):
        return "the CRM refuses this, and the reply does not say so"
    if turn.expectation.succeeds and turn.writes and says_failed(text):
        return "the reply says that it was not done"
    facts = facts_of(turn.expectation, turn.expected.tool, turn.wanted, turn.outputs)
    missing = [fact for fact in facts if not _says(text, fact)]
    if missing:
        return f"the reply does not say {', '.join(map(_quoted, missing))}"
    baseless = list(grounds.baseless(text))
    return f"the reply says {', '.join(baseless)}, which nobody has said" if baseless else ""


def _says(text: str, fact: Json) -> bool:
    return says_none(text) if fact in (NOTHING, 0) else read(text).says(fact)


def _quoted(fact: Json) -> str:
    return "that there is nothing" if fact == NOTHING else repr(fact)
