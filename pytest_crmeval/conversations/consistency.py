"""Contradictions between a case and its own reference calls; such a case is invalid: no agent can pass it."""

import re
from collections.abc import Iterator

from pytest_crmeval.conversations.references import REFERENCE, resolve
from pytest_crmeval.conversations.scorers.crm_state import crm_state
from pytest_crmeval.conversations.scorers.facts import NOTHING
from pytest_crmeval.conversations.scorers.groundedness import KnownValues
from pytest_crmeval.conversations.scorers.mentions import read
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import user_says
from pytest_crmeval.ports.scorer import Evidence, Reference

_PLACEHOLDER = re.compile(r"\{\s*[\w.]+\s*\}")


def inconsistencies(case: Conversation, reference: Reference) -> Iterator[str]:
    """Yield what a case expects although its own reference calls don't lead to it."""
    yield from _utterances(case, reference)
    yield from _results(case, reference)
    yield from _facts(case, reference)
    start = 0
    for number, segment in enumerate(case.segments, start=1):
        refused = [not turn.expectation.succeeds for turn in case.turns[start : segment.last_turn]]
        if segment.succeeds is any(refused):
            says, does = ("success", "a refusal") if segment.succeeds else ("failure", "no refusal")
            yield f"segment {number}: expected_outcome is {says}, but its turns expect {does}"
        start = segment.last_turn
    if case.expected_state:
        evidence = Evidence(transcript=reference.transcript, after=reference.after, reference=reference)
        score = crm_state(case, evidence)
        yield from (f"expected_state: {line}" for line in score.reason.splitlines())


def _utterances(case: Conversation, reference: Reference) -> Iterator[str]:
    """Yield utterances that are empty or contain a reference without a value."""
    for number, turn in enumerate(case.turns, start=1):
        if not turn.utterance.strip():
            yield f"turn {number}: the utterance is empty"
        for place, name in REFERENCE.findall(turn.utterance):
            value = reference.transcript.outputs.get(int(place), {}).get(name)
            if not isinstance(value, str | int | float):
                yield f"turn {number}: the reference {{{{turn_{place}.{name}}}}} in the utterance has no value"


def _results(case: Conversation, reference: Reference) -> Iterator[str]:
    turns = zip(case.turns, reference.transcript.exchanges, strict=True)
    for number, (turn, exchange) in enumerate(turns, start=1):
        for part, (call, result) in zip(turn.expectation.parts, exchange.calls, strict=False):
            unknown = result.error is not None and result.error.kind == "unknown_tool"
            if unknown or not part.is_met_by(result):
                said = result.error.message if result.error else f"it returned {result.value!r}"
                yield f"turn {number}: the reference call {call.tool} does not do what the case expects: {said}"


def _facts(case: Conversation, reference: Reference) -> Iterator[str]:
    """Yield the expected facts that neither the user nor the CRM has mentioned by the time of the reply."""
    if not any(turn.expectation.facts for turn in case.turns):
        return
    known_values, outputs = KnownValues(case.now.date().isoformat()), reference.transcript.outputs
    known_values.add([user_says(case.policy)])
    for number, (turn, exchange) in enumerate(zip(case.turns, reference.transcript.exchanges, strict=True), start=1):
        known_values.add(exchange.messages)
        for fact in turn.expectation.facts or ():
            meant = resolve(fact, {place: found for place, found in outputs.items() if place <= number})
            if not _known(meant, known_values):
                yield f"turn {number}: reply_facts: neither the user nor the CRM has mentioned {meant!r}"


def _known(fact: Json, known_values: KnownValues) -> bool:
    if fact == NOTHING or isinstance(fact, bool) or not isinstance(fact, str | int | float):
        return True
    if isinstance(fact, str) and _PLACEHOLDER.search(fact):
        return False
    said = read(str(fact))
    return not list(known_values.unsupported(said)) and (
        bool(said.numbers or said.dates) or known_values.contains_words(str(fact))
    )
