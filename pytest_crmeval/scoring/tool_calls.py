"""Whether the CRM was asked what the user wanted to know."""

from collections.abc import Iterator, Mapping, Sequence

from pytest_crmeval.domain.calls import writes
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.references import rows_of
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.state import CLOCKS
from pytest_crmeval.scoring.turns import Played, turns_of

Row = frozenset[tuple[str, str]]


def tool_calls(case: Conversation, evidence: Evidence) -> Score:
    """Score the share of turns whose calls are right; all of them must be."""
    faults = list(call_faults(case, evidence))
    told = [f"turn {number}: {fault}" for number, fault in enumerate(faults, start=1) if fault]
    return Score(name="calls", value=1 - len(told) / len(faults), reason="\n".join(told))


def call_faults(case: Conversation, evidence: Evidence) -> Iterator[str]:
    """Yield for each turn what is wrong with its calls; empty if nothing is.

    What is to be read must be read in its turn: by the expected call, or by any that shows the same rows. What is to be
    written is for the state to judge, but nobody can do it without a call. What is to be refused must be tried as
    expected, or looked up.
    """
    seeded = {row_id for rows in case.seed.values() for row_id in rows}
    for turn in turns_of(case, evidence):
        yield _fault(turn, seeded)


def _fault(turn: Played, seeded: set[str]) -> str:
    done = [(call, result.value) for call, result in turn.calls if not result.refused]
    reads = [(call, value) for call, value in done if not writes(call.tool)]
    if not turn.expectation.succeeds:
        met = any(call == turn.expected for call, _ in turn.calls) or reads
        return "" if met else f"neither tried nor looked up: {_told(turn.expected)}, which the CRM refuses"
    if turn.writes:
        return "" if done else f"no call was answered; expected {_told(turn.expected)}"
    return "" if turn.made is not None or _shows(reads, turn, seeded) else f"not made: {_told(turn.expected)}"


def _shows(reads: Sequence[tuple[ToolCall, Json]], turn: Played, seeded: set[str]) -> bool:
    """Whether other reads have shown what the expected one shows."""
    wanted = turn.reference_value
    if wanted in ([], {}):
        return any(_wider(call, turn.expected) and value == wanted for call, value in reads)
    rows = set(_rows(wanted, seeded))
    if not rows:
        return any(call.tool == turn.expected.tool and value == wanted for call, value in reads)
    return rows <= {row for _, value in reads for row in _rows(value, seeded)}


def _wider(call: ToolCall, expected: ToolCall) -> bool:
    """Whether a search that finds nothing proves that the expected one finds nothing either."""
    return call.tool == expected.tool and call.arguments.items() <= expected.arguments.items()


def _rows(value: Json, seeded: set[str]) -> Iterator[Row]:
    """Yield the rows in a result, comparable between two worlds: without clocks, and with new ids by role."""
    if isinstance(value, Mapping) and value and all(isinstance(item, Mapping) for item in value.values()):
        value = list(value.values())
    if isinstance(value, Mapping) and "quotes" in value:
        value = value["quotes"]
    for row in rows_of(value):
        if isinstance(row, Mapping) and any(name.endswith("_id") for name in row):
            yield frozenset((name, _by_role(name, item, seeded)) for name, item in row.items() if name not in CLOCKS)


def _by_role(name: str, item: Json, seeded: set[str]) -> str:
    return "new" if name.endswith("_id") and item is not None and str(item) not in seeded else repr(item)


def _told(call: ToolCall) -> str:
    return f"{call.tool}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"
