"""A trial turn by turn: what was expected, what was done, what the reference calls brought."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.calls import canonical, writes
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.references import Answered, Outputs, resolved
from pytest_crmeval.domain.transcript import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One turn as it was played."""

    number: int
    expectation: Expectation
    expected: ToolCall
    """The reference call with the ids of this trial, in canonical form."""
    exchange: Exchange
    reference: Exchange
    """The same turn when the reference calls are made."""
    outputs: Outputs
    """What this turn and those before it brought to light."""
    calls: Answered
    """Every call in canonical form with what came back."""

    @property
    def writes(self) -> bool:
        """Whether the turn is there to change something."""
        return writes(self.expected.tool)

    @property
    def made(self) -> ToolResult | None:
        """What the expected call returned; None if it was not made, or refused."""
        done = (result for call, result in self.calls if call == self.expected and not result.refused)
        return next(done, None)

    @property
    def wanted(self) -> Json:
        """What the CRM answers to the expected call: in this trial, or else in the reference."""
        made = self.made
        return self.reference_value if made is None else made.value

    @property
    def reference_value(self) -> Json:
        """What the CRM answers to the expected call in the reference."""
        answers = [result.value for _, result in self.reference.calls if not result.refused]
        return answers[-1] if answers else None


def turns_of(case: Conversation, evidence: Evidence) -> Iterator[Played]:
    """Yield each turn of a trial."""
    outputs = evidence.transcript.outputs
    played = zip(case.turns, evidence.transcript.exchanges, evidence.reference.transcript.exchanges, strict=True)
    for number, (turn, exchange, reference) in enumerate(played, start=1):
        yield Played(
            number=number,
            expectation=turn.expectation,
            expected=canonical(resolved(turn.expectation.call, outputs)),
            exchange=exchange,
            reference=reference,
            outputs={place: output for place, output in outputs.items() if place <= number},
            calls=[(canonical(call), result) for call, result in exchange.calls],
        )


def told(faults: Sequence[str]) -> str:
    """Return the faults of a trial as one reason, each with its turn."""
    return "\n".join(f"turn {number}: {fault}" for number, fault in enumerate(faults, start=1) if fault)


class Remembered:
    """Faults by turn; those of the last trial are kept, because scorers and metrics ask for the same."""

    def __init__(self, find: Callable[[Conversation, Evidence], Iterable[str]]) -> None:
        self._find = find
        self._last: tuple[Conversation, Evidence, Sequence[str]] | None = None

    def __call__(self, case: Conversation, evidence: Evidence) -> Sequence[str]:
        """Return for each turn what is wrong with it; empty if nothing is."""
        last = self._last
        if last is None or last[0] is not case or last[1] is not evidence:
            last = self._last = (case, evidence, tuple(self._find(case, evidence)))
        return last[2]
