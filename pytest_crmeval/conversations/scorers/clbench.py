"""The score of the published benchmark, for comparison with its numbers: calls and replies, word for word.

It has the same rules, including subset matching, without three defects: an expected failure that fails as expected
passes, chains can be scored, and numbers are compared as numbers. Here an agent may make several calls in a turn: one
must match, and one for each further call that the case expects. If the case expects none, nothing may be written.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from pytest_crmeval.conversations.references import resolve, resolved
from pytest_crmeval.conversations.scorers.turns import Played, reason_of, turns_of
from pytest_crmeval.domain.conversation import Conversation, Segment
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.score import Score
from pytest_crmeval.ports.crm_calls import writes
from pytest_crmeval.ports.scorer import Evidence

CRITERIA: Mapping[str, Sequence[str]] = {
    "client_search": ("client_id", "name", "email", "status"),
    "contact_search": ("contact_id", "first_name", "last_name", "email", "client_id"),
    "opportunity_search": ("opportunity_id", "client_id", "name", "stage"),
    "quote_search": ("quote_id", "opportunity_id", "name", "status"),
    "contract_search": ("contract_id", "client_id", "opportunity_id", "status"),
    "summarize_opportunities": ("client_id",),
}
"""The only arguments that the benchmark moves into ``criteria`` before it compares."""


def clbench(case: Conversation, evidence: Evidence) -> Score:
    """Score the share of turns, or of a chain's segments, that match the published ones; all of them must."""
    faults = [_fault(turn) for turn in turns_of(case, evidence)]
    if not case.segments:
        return Score(name="clbench", value=faults.count("") / len(faults), reason=reason_of(faults))
    held = [_ends_as_expected(segment, turns) for segment, turns in _split(case, faults)]
    reason = "" if all(held) else reason_of(faults) or "a segment that should end with a refusal has none"
    return Score(name="clbench", value=sum(held) / len(held), reason=reason)


def _split(case: Conversation, faults: Sequence[str]) -> Iterator[tuple[Segment, list[tuple[bool, str]]]]:
    """Yield each segment with its turns and their faults."""
    start = 0
    for segment in case.segments:
        turns = range(start, segment.last_turn)
        yield segment, [(case.turns[turn].expectation.succeeds, faults[turn]) for turn in turns]
        start = segment.last_turn


def _ends_as_expected(segment: Segment, turns: Sequence[tuple[bool, str]]) -> bool:
    """Whether a segment ends with or without a failure, as expected."""
    if any(fault for succeeds, fault in turns if not succeeds):
        return False  # an expected refusal did not happen
    failed = any(fault for succeeds, fault in turns if succeeds)
    return not failed if segment.succeeds else failed or not all(succeeds for succeeds, _ in turns)


def _fault(turn: Played) -> str:
    if turn.calls_nothing:
        written = any(writes(call.tool) and not result.refused for call, result in turn.exchange.calls)
        return "something was written, although there was nothing to call" if written else ""
    fault = next(filter(None, map(_unmatched, turn.parts)), "")
    return fault or (
        "" if not turn.expectation.succeeds or _answers(turn) else "the reply does not match the expected one"
    )


def _unmatched(turn: Played) -> str:
    """Return the expected call that no call of the turn matches; empty if all are matched."""
    if not turn.expectation.succeeds:
        refusals = [result for _, result in turn.exchange.calls if result.error and result.error.kind != "unknown_tool"]
        met = turn.made is None and any(map(turn.expectation.is_met_by, refusals))
        return "" if met else "the CRM did not refuse the call as expected"
    expected = resolved(turn.expectation.call, turn.outputs)
    matching = [result for call, result in turn.exchange.calls if _matches(expected, call)]
    refused = all(result.refused for result in matching)
    return f"no successful call matches {turn.expectation.call.tool}" if refused else ""


def _matches(expected: ToolCall, call: ToolCall) -> bool:
    called = call.tool == expected.tool and isinstance(call.arguments, Mapping)
    return called and _covers(_nested(expected), _nested(call))


def _nested(call: ToolCall) -> Mapping[str, Json]:
    moved = {name: value for name, value in call.arguments.items() if name in CRITERIA.get(call.tool, ())}
    if not moved:
        return call.arguments
    criteria = call.arguments.get("criteria")
    nested = {**moved, **criteria} if isinstance(criteria, Mapping) else moved
    return {**{name: value for name, value in call.arguments.items() if name not in moved}, "criteria": nested}


def _covers(expected: Json, actual: Json) -> bool:
    """Whether ``actual`` contains everything expected; additional values are ignored."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return all(name in actual and _covers(value, actual[name]) for name, value in expected.items())
    if isinstance(expected, str) and isinstance(actual, str):
        return expected.strip() == actual.strip()
    if isinstance(expected, int | float) and isinstance(actual, int | float | str):
        return _number(actual) == float(expected)
    if _is_list(expected) and _is_list(actual):
        return len(expected) == len(actual) and all(map(_covers_item, expected, actual))
    return expected == actual


def _covers_item(expected: Json, actual: Json) -> bool:
    """Whether an item of a list matches: objects may have additional fields, other values must be equal."""
    return _covers(expected, actual) if isinstance(expected, Mapping) else expected == actual


def _is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _number(value: float | str) -> float | None:
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _answers(turn: Played) -> bool:
    """Whether the reply is an accepted one, ignoring case and spaces; a reply that a judge would decide is accepted."""
    answer = turn.expectation.answer
    wanted = [text for text in (answer.text, *answer.others) if text] if answer else []
    if answer is None or answer.judged or not wanted:
        return True
    said = str(resolve(turn.exchange.reply, turn.outputs))
    return bool(said) and _plain(said) in map(_plain, wanted)


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()
