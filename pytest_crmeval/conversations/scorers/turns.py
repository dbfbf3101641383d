"""A trial turn by turn: expectation, calls, and results of the reference calls."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import local

from pytest_crmeval.conversations.references import resolved
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.transcript import Answered, Exchange, Outputs
from pytest_crmeval.ports.crm_calls import canonical, writes
from pytest_crmeval.ports.scorer import Evidence


@dataclass(frozen=True, kw_only=True)
class Played:
    """One turn as played, or one request of a turn with several."""

    number: int
    expectation: Expectation
    expected: ToolCall
    """The reference call with the ids of this trial, in canonical form; of a turn with several, the first."""
    exchange: Exchange
    reference: Exchange
    """The same turn in the reference."""
    outputs: Outputs
    """The outputs of this turn and the earlier ones."""
    calls: Answered
    """Every call in canonical form with its result."""
    whole: Expectation
    """The expectation of the whole turn."""
    before: Answered = ()
    """Every call of earlier turns."""
    place: int = 0
    """The position of its reference call in the turn."""

    @cached_property
    def parts(self) -> Sequence["Played"]:
        """One part per expected call; the turn itself if it expects none."""
        if not self.expectation.further:
            return (self,)
        return [self._part(place, part) for place, part in enumerate(self.expectation.parts)]

    @property
    def calls_nothing(self) -> bool:
        """Whether the turn expects no call."""
        return not self.expected.tool

    @property
    def writes(self) -> bool:
        """Whether the turn expects a write."""
        return any(writes(call.tool) for call in (self.expected, *self.expectation.further))

    @property
    def made(self) -> ToolResult | None:
        """The result of the expected call; None if it was not made, or was refused."""
        done = (result for call, result in self.calls if call == self.expected and not result.refused)
        return next(done, None)

    @property
    def wanted(self) -> Json:
        """The value that the expected call returned in this trial, else in the reference."""
        made = self.made
        return self.reference_value if made is None else made.value

    @property
    def reference_value(self) -> Json:
        """The value that the expected call returned in the reference."""
        return self.reference_result.value

    @property
    def reference_result(self) -> ToolResult:
        """The result of the expected call in the reference: a value or a refusal."""
        answers = [result for _, result in self.reference.calls[self.place : self.place + 1]]
        return answers[0] if answers else ToolResult()

    @property
    def is_evident(self) -> bool:
        """Whether a refusal follows from the tool's description or the date, without any data."""
        error = self.reference_result.error
        if error is None or error.kind != "invalid_argument":
            return False
        return any(not name.endswith("_id") for name in self.expected.arguments)  # otherwise the row is the reason

    def _part(self, place: int, part: Expectation) -> "Played":
        expected = canonical(resolved(part.call, self.outputs))
        return replace(self, place=place, expectation=part, expected=expected)


def turns_of(case: Conversation, evidence: Evidence) -> Iterator[Played]:
    """Yield each turn of a trial."""
    outputs = evidence.transcript.outputs
    before: list[tuple[ToolCall, ToolResult]] = []
    played = zip(case.turns, evidence.transcript.exchanges, evidence.reference.transcript.exchanges, strict=True)
    for number, (turn, exchange, reference) in enumerate(played, start=1):
        calls = [(canonical(call), result) for call, result in exchange.calls]
        yield Played(
            number=number,
            expectation=turn.expectation,
            expected=canonical(resolved(turn.expectation.call, outputs)),
            exchange=exchange,
            reference=reference,
            outputs={place: output for place, output in outputs.items() if place <= number},
            calls=calls,
            whole=turn.expectation,
            before=tuple(before),
        )
        before += calls


def reason_of(faults: Sequence[str]) -> str:
    """Return the faults of a trial as one reason, each with its turn."""
    return "\n".join(f"turn {number}: {fault}" for number, fault in enumerate(faults, start=1) if fault)


class Remembered:
    """Faults by turn; cached for the last trial of each thread, because scorers and metrics use the same ones."""

    def __init__(self, find: Callable[[Conversation, Evidence], Iterable[str]]) -> None:
        self._find = find
        self._here = local()

    def __call__(self, case: Conversation, evidence: Evidence) -> Sequence[str]:
        """Return the fault of each turn; empty if there is none."""
        last: tuple[Conversation, Evidence, Sequence[str]] | None = getattr(self._here, "last", None)
        if last is None or last[0] is not case or last[1] is not evidence:
            last = self._here.last = (case, evidence, tuple(self._find(case, evidence)))
        return last[2]
