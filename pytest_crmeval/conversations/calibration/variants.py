"""Variants of how the oracle plays a case, and the agent that plays them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_crmeval.conversations.calibration.rehearsal import Rehearsal, template
from pytest_crmeval.conversations.columns import CLOCKS
from pytest_crmeval.conversations.oracle import UNCLEAR, result_in_words, truthful_reply
from pytest_crmeval.conversations.references import fields_of, outputs_of, resolved
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, ToolResult, agent_says
from pytest_crmeval.domain.state import Row
from pytest_crmeval.domain.transcript import Answered, Fields, Outputs, Transcript, answered_in
from pytest_crmeval.ports.crm_calls import canonical
from pytest_crmeval.ports.scorer import Evidence

Steps = Sequence[Sequence[ToolCall]]
"""Steps of calls; arguments may refer to earlier turns, and to earlier results of the same turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One deviation from the oracle's calls or replies."""

    turn: int
    what: str
    """A description of the difference."""
    steps: Mapping[int, Steps] = field(default_factory=dict)
    """Turn -> the calls that are made instead of the reference calls."""
    text: str | None = None
    """The reply of the turn; None if it follows from the results of the calls."""
    place: int = 0
    """The position of the changed call in its turn."""
    knows: bool = False
    """Whether the reply is the oracle's, whatever its own calls returned."""


Kinds = Mapping[str, Callable[[Rehearsal], Iterator[Variant]]]
"""Name of a kind -> the function that yields its variants of a case."""


def instead(turn: Played, *calls: ToolCall, what: str, knows: bool = False, text: str | None = None) -> Variant:
    """Return a variant with other calls in one turn, one after the other; other requests of the turn stay."""
    steps = {turn.number: _among(turn, tuple((call,) for call in calls))}
    return Variant(turn=turn.number, what=what, steps=steps, knows=knows, text=text, place=turn.place)


def at_once(turn: Played, *calls: ToolCall) -> Variant:
    """Return a variant with other calls in one turn, all in one step."""
    what = f"{' and '.join(call.tool for call in calls)} at once"
    return Variant(turn=turn.number, what=what, steps={turn.number: _among(turn, (calls,))})


def _among(turn: Played, steps: Steps) -> Steps:
    """Return steps together with those for the other requests of the turn."""
    others = tuple((call,) for call in turn.whole.calls)
    return (*others[: turn.place], *steps, *others[turn.place + 1 :])


def changed(turn: Played, name: str, value: Json) -> Variant:
    """Return a variant with one changed argument."""
    call = template(turn)
    what = f"{call.tool} with {name}={value!r}, not {call.arguments.get(name)!r}"
    return instead(turn, ToolCall(tool=call.tool, arguments={**call.arguments, name: value}), what=what)


def says(turn: Played, text: str) -> Variant:
    """Return a variant with another reply."""
    return Variant(turn=turn.number, what=f"said {text!r}", text=text)


def with_reply(evidence: Evidence, turn: int, text: str) -> Evidence:
    """Return the same trial with another reply in one turn; nothing else depends on it."""
    exchanges = list(evidence.transcript.exchanges)
    exchange = exchanges[turn - 1]
    exchanges[turn - 1] = replace(exchange, messages=(*exchange.messages[:-1], agent_says(Reply(text=text))))
    return replace(evidence, transcript=Transcript(exchanges=tuple(exchanges)))


class Deviant:
    """Plays like the oracle, except for one variant, and truthfully reports the results of its own calls."""

    name = "deviant"

    def __init__(self, rehearsal: Rehearsal, variant: Variant, *, recites: bool = False) -> None:
        self._rehearsal = rehearsal
        self._variant = variant
        self._recites = recites
        self._calls = [turn.expectation.call for turn in rehearsal.case.turns]

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Make the next calls of the current turn; after the last one, report the results."""
        del tools  # the agent knows its calls
        starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
        number, said = len(starts), messages[starts[-1] :]
        outputs = self._outputs(messages, number)
        expectation = self._rehearsal.case.turns[number - 1].expectation
        steps = self._variant.steps.get(number, tuple((call,) for call in expectation.calls))
        step = sum(message.speaker == "agent" for message in said)
        if step < len(steps):
            return Reply(calls=tuple(resolved(call, outputs) for call in steps[step]))
        return Reply(text=self._words(number, answered_in(said), outputs))

    def _outputs(self, messages: Sequence[Message], number: int) -> Outputs:
        """Return the outputs of the turns, also for turns with other calls, if they are known."""
        outputs = dict(outputs_of(messages, self._calls))
        for turn in (turn for turn in self._variant.steps if turn <= number):
            found = self._found(turn, _answered(messages, turn))
            if found is not None:
                outputs[turn] = found
        return outputs

    def _found(self, number: int, answered: Answered) -> Fields | None:
        known = self._rehearsal.turns[number - 1].exchange.output
        if known and self._is_seeded(known):
            return known
        rows = [row for _, result in answered for row in rows_in(result.value)]
        if known and (same := next((row for row in rows if _alike(row, known)), None)):
            return same
        expectation = self._rehearsal.case.turns[number - 1].expectation
        others = {call.tool for call in expectation.further} - {expectation.call.tool}
        made = [result for call, result in answered if not result.refused and call.tool not in others]
        return fields_of(made[0 if expectation.further else -1].value) if made else None

    def _is_seeded(self, row: Fields) -> bool:
        ids = [str(value) for name, value in row.items() if name.endswith("_id") and value is not None]
        return bool(ids) and self._rehearsal.seeded.issuperset(ids)

    def _words(self, number: int, answered: Answered, outputs: Outputs) -> str:
        if self._variant.text is not None and number == self._variant.turn:
            return self._variant.text
        turn = self._rehearsal.turns[number - 1]
        if self._recites:
            return turn.exchange.reply
        results = [self._met(part, answered, outputs) for part in turn.parts if not part.calls_nothing]
        if None in results:
            return _truthful_report(turn, answered, outputs)
        return truthful_reply(turn.expectation, [result for result in results if result is not None], outputs)

    def _met(self, part: Played, answered: Answered, outputs: Outputs) -> ToolResult | None:
        """Return the result of an expected call; if it was not made, the known one."""
        expected = canonical(resolved(part.expectation.call, outputs))
        met = [result for call, result in answered if canonical(call) == expected]
        known = [part.exchange.calls[part.place][1]] if self._variant.knows else [None]
        return (met or known)[-1]


def _truthful_report(turn: Played, answered: Answered, outputs: Outputs) -> str:
    """Return a truthful report of calls that are not in the answer key."""
    own = [_call_report(turn, call, result, outputs) for call, result in answered]
    asked = [UNCLEAR] if turn.expectation.asks else []
    return " ".join(filter(None, [*own, *asked])) or "Done."


def _call_report(turn: Played, call: ToolCall, result: ToolResult, outputs: Outputs) -> str:
    """Return a truthful report of one call; for an expected call, the expected facts."""
    for part in turn.expectation.parts:
        if canonical(resolved(part.call, outputs)) == canonical(call):
            return result_in_words(part, result, outputs, beside=True)
    return result_in_words(replace(turn.expectation, call=call, facts=None), result, outputs)


def _answered(messages: Sequence[Message], number: int) -> Answered:
    starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
    return answered_in(messages[starts[number - 1] : [*starts, None][number]])


def _alike(row: Row, known: Fields) -> bool:
    """Whether a row equals the known row of another trial, except for ids and times."""
    return row.keys() == known.keys() and all(
        row[name] == value for name, value in known.items() if name not in CLOCKS and not name.endswith("_id")
    )
