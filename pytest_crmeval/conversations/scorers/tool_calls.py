"""Whether the calls of each turn read and write what the user asked for."""

import re
from collections.abc import Collection, Iterator, Mapping

from pytest_crmeval.conversations.columns import CLOCKS, meant
from pytest_crmeval.conversations.scorers.facts import facts_of
from pytest_crmeval.conversations.scorers.groundedness import follows_from, kind_of, rows_in
from pytest_crmeval.conversations.scorers.turns import Played, Remembered, reason_of, turns_of
from pytest_crmeval.conversations.scorers.undone import Rows
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.domain.transcript import Answered
from pytest_crmeval.ports.crm_calls import writes
from pytest_crmeval.ports.scorer import Evidence

Shown = frozenset[tuple[str, str]]
"""A row in a form that can be compared between two trials."""
LISTS: Mapping[str, str] = {f"list_{table}": f"{entity.lower()}_search" for entity, (table, _) in TABLES.items()}
"""Tools that show the same rows as a search."""
OVERVIEWS: Mapping[str, str] = {"summarize_opportunities": "opportunity_search", "quote_prefixes": "quote_search"}
"""Tools that summarize the rows of a search."""
EXACT = ("status", "stage", "type", "entity_type")
"""Filters that match exactly; so do filters by an id, a number or a date."""
QUOTED = 120
"""Characters of the user's words that a reason quotes."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def tool_calls(case: Conversation, evidence: Evidence) -> Score:
    """Score the share of turns whose calls are right; all of them must be."""
    faults = call_faults(case, evidence)
    return Score(name="calls", value=faults.count("") / len(faults), reason=reason_of(faults))


@Remembered
def call_faults(case: Conversation, evidence: Evidence) -> Iterator[str]:
    """Yield for each turn what is wrong with its calls; empty if nothing is.

    A read must be made in its turn: by the expected call, or by any call that shows the same rows. A write must be in
    the CRM at the end of its turn, however it was made: a later turn may overwrite it, and then the final state does
    not show it. A request that the CRM refuses must be tried as expected, or looked up, unless the refusal is obvious.
    Several requests in one turn are scored separately. A write that was not requested is a fault even if the same turn
    undoes it.
    """
    seeded = {row_id for rows in case.seed.values() for row_id in rows}
    rows = Rows(evidence.reference.before)
    for turn in turns_of(case, evidence):
        faults = (_fault(part, seeded, case.expected_state) for part in turn.parts if not part.calls_nothing)
        undone = rows.play(turn)
        yield next(filter(None, faults), "") or _unasked(turn) or _undone(undone)


def _fault(turn: Played, seeded: set[str], stated_entities: Collection[str]) -> str:
    done = [(call, result) for call, result in turn.calls if not result.refused]
    reads = [(call, result) for call, result in done if not writes(call.tool)]
    if not turn.expectation.succeeds:
        return "" if turn.is_evident else _unproven(turn, reads)
    if turn.writes:
        exact = not any(entity.lower() in turn.expected.tool for entity in stated_entities)
        written = turn.made is not None or not exact or _written(done, turn, seeded)
        return "" if done and written else f"not written: {_call_text(turn.expected)}{_for(turn)}"
    shown = turn.made is not None or _shows(reads, turn, seeded) or is_remembered(turn, seeded)
    return "" if shown else f"not made: {_call_text(turn.expected)}{_for(turn)}"


def _unasked(turn: Played) -> str:
    """Return a write in a turn that only reads, or that expects no call; empty if there is none."""
    if any(part.writes and part.expectation.succeeds for part in turn.parts):
        return ""  # the score of the state covers it
    done = [call for call, result in turn.calls if not result.refused]
    return next((f"written but not requested: {_call_text(call)}" for call in done if writes(call.tool)), "")


def _undone(call: ToolCall | None) -> str:
    return f"written but not requested, and undone in the same turn: {_call_text(call)}" if call else ""


def _unproven(turn: Played, reads: Answered) -> str:
    """Return the fault of a refusal that was guessed, although only the data shows it; empty if there is none."""
    tried = any(_tries(call, result, turn.expected) for call, result in turn.calls)
    met = tried or is_forewarned(turn) or any(_looks_up(call, result, turn.expected) for call, result in reads)
    met = met or _is_sought(turn)
    found = f"not attempted, record not read: {_call_text(turn.expected)}, which the CRM refuses{_for(turn)}"
    return "" if met else found


def is_forewarned(turn: Played) -> bool:
    """Whether an earlier turn has shown the reason of a refusal: the row itself, or the owner of the address.

    Not if the user asks for a row that was deleted: what was seen before does not show that.
    """
    if not turn.writes:
        return False
    error = turn.reference_result.error
    rows = [row for _, result in turn.before for row in rows_in(result.value)]
    if error is not None and error.kind == "conflict":
        sought = {text.casefold() for text in _texts(turn.expected) if "@" in text}
        return not sought.isdisjoint(str(row.get("email")).casefold() for row in rows)
    return not _texts(turn.expected).isdisjoint(str(row[kind_of(row)]) for row in rows)


def _is_sought(turn: Played) -> bool:
    """Whether the agent searched for something that does not exist, and the CRM said so."""
    ids = _texts(turn.expected)
    return any(
        not writes(call.tool)
        and result.error is not None
        and result.error.kind == "not_found"
        and isinstance(call.arguments, Mapping)
        and not ids.isdisjoint(_texts(call))
        for call, result in turn.calls
    )


def _texts(call: ToolCall) -> set[str]:
    return {value for value in call.arguments.values() if isinstance(value, str)}


def _tries(call: ToolCall, result: ToolResult, expected: ToolCall) -> bool:
    """Whether a call includes the request that is refused; it may include more."""
    if call.tool != expected.tool or not isinstance(call.arguments, Mapping):
        return False
    if not result.refused:
        return call == expected
    given = {name: _small(value) for name, value in call.arguments.items()}
    return all(name in given and given[name] == _small(value) for name, value in expected.arguments.items())


def _looks_up(call: ToolCall, result: ToolResult, expected: ToolCall) -> bool:
    """Whether a read shows the row that the refusal is about, or rows of its entity."""
    ids = _texts(expected)
    shown = {str(item) for row in rows_in(result.value) for name, item in row.items() if name.endswith("_id")}
    return not ids.isdisjoint(shown) or not _kinds(call).isdisjoint(_kinds(expected))


def _kinds(call: ToolCall) -> set[str]:
    """Return the entities that a call is about."""
    return {
        entity
        for entity, (table, key) in TABLES.items()
        if entity.lower() in call.tool
        or table in call.tool
        or key in call.arguments
        or entity == call.arguments.get("entity_type")
    }


def _shows(reads: Answered, turn: Played, seeded: set[str]) -> bool:
    """Whether other reads have shown the result of the expected one."""
    if _is_empty(turn.reference_value):
        return any(_proves_absence(call, result, turn.expected) for call, result in reads)
    if any(rows_in(turn.reference_value)):
        return _is_among(reads, turn, seeded)
    return _tells(reads, turn)


def is_remembered(turn: Played, seeded: set[str]) -> bool:
    """Whether an earlier call has shown all rows that a turn asks for, and they are unchanged.

    Also if it has shown that there are none, and there still are none.
    """
    done = [pair for pair in turn.before if not pair[1].refused]
    if _is_empty(turn.reference_value):
        reads = [pair for pair in done if not writes(pair[0].tool)]
        return any(_proves_absence(call, result, turn.expected) for call, result in reads)
    return any(rows_in(turn.reference_value)) and any(_is_among([pair], turn, seeded) for pair in done)


def _is_among(done: Answered, turn: Played, seeded: set[str]) -> bool:
    rows = set(_comparable(turn.reference_value, seeded))
    return rows <= {row for _, result in done for row in _comparable(result.value, seeded)}


def _written(done: Answered, turn: Played, seeded: set[str]) -> bool:
    """Whether the turn's results include the row that the expected call writes: in parts, or as it already was.

    Or as later requests of the turn leave it, because two changes of a row may be made at once.
    """
    shown = {row for _, result in done for row in _comparable(result.value, seeded)}
    left = [list(_comparable(value, seeded)) for value in _left_behind(turn)]
    return any(set(rows) <= shown for rows in left)


def _left_behind(turn: Played) -> Iterator[Json]:
    """Yield the row that a turn writes, after each of its reference calls from this one on."""
    ids = {str(row[kind_of(row)]) for row in rows_in(turn.reference_value)}
    yield turn.reference_value
    for _, result in turn.reference.calls[turn.place + 1 :]:
        if any(str(row[kind_of(row)]) in ids for row in rows_in(result.value)):
            yield result.value


def _is_empty(value: Json) -> bool:
    return value in ([], {}) or (isinstance(value, Mapping) and value.get("total_count") == 0)


def _tells(reads: Answered, turn: Played) -> bool:
    """Whether reads show the content of a summary, or rows from which it can be computed."""
    tool = turn.expected.tool
    if any(call.tool == tool and result.value == turn.reference_value for call, result in reads):
        return True
    values = [
        result.value
        for call, result in reads
        if tool == "summarize_counts" or (call.tool != tool and _search(call.tool) == _search(tool))
    ]
    facts = facts_of(turn.expectation, tool, turn.reference_value, turn.outputs)
    return bool(facts) and all(any(follows_from(value, fact) for value in values) for fact in facts)


def _proves_absence(call: ToolCall, result: ToolResult, expected: ToolCall) -> bool:
    """Whether a read covers all rows that the expected one could find, so that it proves that there are none."""
    if _search(call.tool) != _search(expected.tool) or result.note:
        return False
    if call.tool in OVERVIEWS and not _is_empty(result.value):
        return False
    filters = {name: value for name, value in call.arguments.items() if _small(value) != ""}
    wanted = expected.arguments
    return all(name in wanted and _wider(name, value, wanted[name]) for name, value in filters.items())


def _search(tool: str) -> str:
    """Return the search over the same rows."""
    return LISTS.get(tool) or OVERVIEWS.get(tool, tool)


def _wider(name: str, value: Json, expected: Json) -> bool:
    """Whether a filter matches everything that another one matches."""
    one, other = _small(value), _small(expected)
    if isinstance(one, str) and isinstance(other, str) and name not in EXACT and not name.endswith(("_id", "_date")):
        return one in other
    return one == other


def _small(value: Json) -> Json:
    return value.strip().casefold() if isinstance(value, str) else value


def _comparable(value: Json, seeded: set[str]) -> Iterator[Shown]:
    """Yield the rows in a result without times, and with new ids replaced by roles."""
    for row in rows_in(value):
        said = {name: meant(name, item) for name, item in row.items() if name not in CLOCKS}
        yield frozenset((name, _by_role(name, item, seeded)) for name, item in said.items())


def _by_role(name: str, item: Json, seeded: set[str]) -> str:
    return "new" if name.endswith("_id") and item is not None and str(item) not in seeded else repr(item)


def _call_text(call: ToolCall) -> str:
    return f"{call.tool}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"


def _for(turn: Played) -> str:
    """Return the user's words for an expected call: of several requests, the sentence with most of its values."""
    said = turn.exchange.messages[0].text
    if turn.whole.further:
        values = [str(value).casefold() for value in turn.expected.arguments.values()]
        sentences = [(sum(v in s.casefold() for v in values), s) for s in _SENTENCE.split(said)]
        most, sentence = max(sentences, key=lambda each: each[0])
        said = sentence if most else said
    return f' (asked: "{cut(" ".join(said.split()), QUOTED)}")'
