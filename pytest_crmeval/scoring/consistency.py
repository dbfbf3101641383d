"""Whether a case says of itself what is not so: then nobody can pass it."""

from collections.abc import Iterator

from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence, Reference
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.references import resolve
from pytest_crmeval.scoring.crm_state import crm_state
from pytest_crmeval.scoring.facts import NOTHING
from pytest_crmeval.scoring.grounds import Grounds
from pytest_crmeval.scoring.mentions import read


def inconsistencies(case: Conversation, reference: Reference) -> Iterator[str]:
    """Yield what a case expects and its own reference calls don't bring about."""
    yield from _answers(case, reference)
    yield from _facts(case, reference)
    if case.expected_state:
        evidence = Evidence(transcript=reference.transcript, after=reference.after, reference=reference)
        score = crm_state(case, evidence)
        yield from (f"expected_state: {line}" for line in score.reason.splitlines())


def _answers(case: Conversation, reference: Reference) -> Iterator[str]:
    turns = zip(case.turns, reference.transcript.exchanges, strict=True)
    for number, (turn, exchange) in enumerate(turns, start=1):
        for call, result in exchange.calls:
            if not turn.expectation.is_met_by(result):
                said = result.error.message if result.error else f"it returned {result.value!r}"
                yield f"turn {number}: the case expects otherwise of its own call {call.tool}: {said}"


def _facts(case: Conversation, reference: Reference) -> Iterator[str]:
    """Yield the facts that nobody has said by the time the reply has to."""
    if not any(turn.expectation.facts for turn in case.turns):
        return
    grounds = Grounds(case.now.date().isoformat())
    for number, (turn, exchange) in enumerate(zip(case.turns, reference.transcript.exchanges, strict=True), start=1):
        grounds.add(exchange.messages)
        for fact in turn.expectation.facts or ():
            meant = resolve(fact, reference.transcript.outputs)
            if not _known(meant, grounds):
                yield f"turn {number}: reply_facts: nobody has said {meant!r}"


def _known(fact: Json, grounds: Grounds) -> bool:
    if fact == NOTHING or isinstance(fact, bool) or not isinstance(fact, str | int | float):
        return True
    said = read(str(fact))
    return not list(grounds.baseless(said)) and (bool(said.numbers or said.dates) or grounds.has_said(str(fact)))
