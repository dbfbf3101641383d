"""A case played otherwise than the oracle plays it: what is different, and the agent that does it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_crmeval.conversations.calibration.rehearsal import Rehearsal, template
from pytest_crmeval.conversations.oracle import UNCLEAR, result_in_words, truthful_reply
from pytest_crmeval.conversations.references import fields_of, outputs_of, resolved
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.calls import canonical
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, ToolResult, agent_says
from pytest_crmeval.domain.state import CLOCKS, Row
from pytest_crmeval.domain.transcript import Answered, Fields, Outputs, Transcript, answered_in

Steps = Sequence[Sequence[ToolCall]]
"""Replies with calls, one after the other; arguments may refer to earlier turns, and to what their own has brought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One deviation from what the oracle does or says."""

    turn: int
    what: str
    """The difference, for people."""
    steps: Mapping[int, Steps] = field(default_factory=dict)
    """Turn -> the calls that are made instead of the reference calls."""
    text: str | None = None
    """What is said in the turn; None if that follows from what the calls returned."""
    place: int = 0
    """Which of the turn's calls is another one."""
    knows: bool = False
    """Whether it says what the oracle says, whatever its own calls returned."""


Kinds = Mapping[str, Callable[[Rehearsal], Iterator[Variant]]]
"""Name of a kind -> its variants of one case."""


def instead(turn: Played, *calls: ToolCall, what: str, knows: bool = False, text: str | None = None) -> Variant:
    """Return the variant that makes other calls in one turn, one after the other; what else is wanted in it stays."""
    steps = {turn.number: _among(turn, tuple((call,) for call in calls))}
    return Variant(turn=turn.number, what=what, steps=steps, knows=knows, text=text, place=turn.place)


def at_once(turn: Played, *calls: ToolCall) -> Variant:
    """Return the variant that makes other calls in one turn, all in one reply."""
    what = f"{' and '.join(call.tool for call in calls)} at once"
    return Variant(turn=turn.number, what=what, steps={turn.number: _among(turn, (calls,))})


def _among(turn: Played, steps: Steps) -> Steps:
    """Return steps with those that the rest of a turn takes around them."""
    others = tuple((call,) for call in turn.whole.calls)
    return (*others[: turn.place], *steps, *others[turn.place + 1 :])


def changed(turn: Played, name: str, value: Json) -> Variant:
    """Return the variant that changes one argument."""
    call = template(turn)
    what = f"{call.tool} with {name}={value!r}, not {call.arguments.get(name)!r}"
    return instead(turn, ToolCall(tool=call.tool, arguments={**call.arguments, name: value}), what=what)


def says(turn: Played, text: str) -> Variant:
    """Return the variant that only says something else."""
    return Variant(turn=turn.number, what=f"said {text!r}", text=text)


def revoiced(evidence: Evidence, turn: int, text: str) -> Evidence:
    """Return the same trial with other words at the end of one turn: nothing else depends on them."""
    exchanges = list(evidence.transcript.exchanges)
    exchange = exchanges[turn - 1]
    exchanges[turn - 1] = replace(exchange, messages=(*exchange.messages[:-1], agent_says(Reply(text=text))))
    return replace(evidence, transcript=Transcript(exchanges=tuple(exchanges)))


class Deviant:
    """Does what the oracle does, except for one variant, and reports truthfully what its own calls returned."""

    name = "deviant"

    def __init__(self, rehearsal: Rehearsal, variant: Variant, *, recites: bool = False) -> None:
        self._rehearsal = rehearsal
        self._variant = variant
        self._recites = recites
        self._calls = [turn.expectation.call for turn in rehearsal.case.turns]

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Make the next calls of the current turn; when there are no more, say what came of them."""
        del tools  # it knows what to call
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
        """Return what the turns have brought to light; also where the variant asked otherwise, if it can know it."""
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
            return _account(turn, answered, outputs)
        return truthful_reply(turn.expectation, [result for result in results if result is not None], outputs)

    def _met(self, part: Played, answered: Answered, outputs: Outputs) -> ToolResult | None:
        """Return what an expected call has returned; to one that was not made, what is known."""
        expected = canonical(resolved(part.expectation.call, outputs))
        met = [result for call, result in answered if canonical(call) == expected]
        known = [part.exchange.calls[part.place][1]] if self._variant.knows else [None]
        return (met or known)[-1]


def _account(turn: Played, answered: Answered, outputs: Outputs) -> str:
    """Return what a truthful agent says about calls that are not those of the answer key."""
    own = [_told(turn, call, result, outputs) for call, result in answered]
    asked = [UNCLEAR] if turn.expectation.asks else []
    return " ".join(filter(None, [*own, *asked])) or "Done."


def _told(turn: Played, call: ToolCall, result: ToolResult, outputs: Outputs) -> str:
    """Return what a truthful agent says about one call: of an expected one, what the case wants to hear."""
    for part in turn.expectation.parts:
        if canonical(resolved(part.call, outputs)) == canonical(call):
            return result_in_words(part, result, outputs, beside=True)
    return result_in_words(replace(turn.expectation, call=call, facts=None), result, outputs)


def _answered(messages: Sequence[Message], number: int) -> Answered:
    starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
    return answered_in(messages[starts[number - 1] : [*starts, None][number]])


def _alike(row: Row, known: Fields) -> bool:
    """Whether a row is the known one of another trial: all but ids and clocks are the same."""
    return row.keys() == known.keys() and all(
        row[name] == value for name, value in known.items() if name not in CLOCKS and not name.endswith("_id")
    )
