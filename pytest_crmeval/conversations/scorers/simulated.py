"""The scores of a conversation with a simulated user: the CRM at the end, and what was written on the way."""

from collections.abc import Iterator, Mapping, Sequence

from pytest_crmeval.conversations.columns import CLOCKS, meant
from pytest_crmeval.conversations.scorers.crm_state import KEYS, crm_state
from pytest_crmeval.conversations.scorers.groundedness import kind_of, rows_in
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.state import TABLES, Row, State
from pytest_crmeval.ports.crm_calls import writes
from pytest_crmeval.ports.scorer import Evidence, Scorer

_DELETED = {f"delete_{entity.lower()}": key for entity, (_, key) in TABLES.items()}
"""Tool -> the argument with the id of the row that it deletes."""


def forbidden_writes(case: Conversation, evidence: Evidence) -> Score:
    """Score 0 if the agent wrote a row that the answer key leaves as it is, even if the agent has restored it since.

    Rows that were written and stayed are compared by the score of the state.
    """
    del case
    before, after = _by_id(evidence.reference.before), _by_id(evidence.after)
    wanted = _by_id(evidence.reference.after)
    faults = []
    for exchange in evidence.transcript.exchanges:
        for call, result in exchange.calls:
            for row_id, row in _written(call, result):
                old = before.get(row_id)
                restored = row_id not in after if old is None else _same(old, after.get(row_id))
                changed = row is not None if old is None else not _same(old, row)
                if changed and restored and (old is None or _same(old, wanted.get(row_id))):
                    faults.append(f"written but not requested, and undone: {call.tool} {dict(call.arguments)}")
    return Score(name="writes", value=0.0 if faults else 1.0, reason="\n".join(dict.fromkeys(faults)))


def _written(call: ToolCall, result: ToolResult) -> Iterator[tuple[str, Row | None]]:
    """Yield the rows that a call has written; None if it has deleted the row."""
    if result.refused or not writes(call.tool):
        return
    if key := _DELETED.get(call.tool):
        yield str(call.arguments.get(key)), None
        return
    yield from ((str(row[kind_of(row)]), row) for row in rows_in(result.value))


def _by_id(state: State) -> Mapping[str, Row]:
    return {str(row[KEYS[table]]): row for table, rows in state.items() for row in rows}


def _same(row: Row, other: Row | None) -> bool:
    """Whether both rows say the same in the columns that both have."""
    return other is not None and all(
        meant(name, row[name]) == meant(name, other[name]) for name in (row.keys() & other.keys()) - CLOCKS
    )


SIMULATED: Sequence[Scorer] = (crm_state, forbidden_writes)
