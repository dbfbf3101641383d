"""What a judge is told about a trial: the case, its answer key, and what happened. Not who the agent is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_crmeval.conversations.judge.aliases import aliases_of
from pytest_crmeval.conversations.judge.differences import differences
from pytest_crmeval.conversations.references import resolve
from pytest_crmeval.domain.conversation import Conversation, Turn
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.messages import Message, ToolCall, ToolResult
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.domain.transcript import Exchange
from pytest_crmeval.models.excerpts import Excerpts, encoded

MOST = 54_000
"""Characters; with the rubric a request stays below 60,000."""
_BOUNDS = ((4_000, 60), (2_000, 40), (1_000, 24), (500, 16), (250, 10), (120, 6), (60, 4), (30, 2))
"""How long a value may be, and how many steps of a turn are told: the first that fit."""
_DIFFERENCES = 4
"""What the CRMs differ by may be so many times as long as a value."""

_Step = str | tuple[ToolCall, ToolResult | None]
"""What an agent says on its way, or a call with what came back, if it was made."""


class TooLargeError(Exception):
    """A trial of so many turns that it can't be told."""


def brief_of(case: Conversation, evidence: Evidence) -> str:
    """Return the trial as JSON of at most MOST characters; TooLargeError if it can't be cut to that."""
    excerpts = Excerpts(aliases_of(case, evidence))
    for longest, steps in _BOUNDS:
        told = encoded(_Brief(case, evidence, excerpts, longest, steps).whole())
        if len(told) <= MOST:
            return told
    raise TooLargeError(f"{len(case.turns)} turns are too many to be shown to a judge")


@dataclass(frozen=True, slots=True)
class _Brief:
    """A trial, told within bounds."""

    case: Conversation
    evidence: Evidence
    excerpts: Excerpts
    longest: int
    most_steps: int

    def whole(self) -> JsonObject:
        played, reference = self.evidence.transcript.exchanges, self.evidence.reference.transcript.exchanges
        turns = [
            self._turn(turn, _at(played, place), _at(reference, place)) for place, turn in enumerate(self.case.turns)
        ]
        return {"now": self.case.now.isoformat(), **self._bounds(), "turns": turns, **self._crm()}

    def _bounds(self) -> JsonObject:
        if self.longest == _BOUNDS[0][0]:
            return {}
        said = (
            f"Values of more than {self.longest:,} characters and turns of more than {self.most_steps} steps are cut."
        )
        return {"shortened": said}

    def _turn(self, turn: Turn, played: Exchange | None, reference: Exchange | None) -> JsonObject:
        said = played.messages[0].text if played and played.messages else turn.utterance
        return {
            "user": self._cut(said),
            "expected": self._expected(turn.expectation, reference),
            "agent": self._agent(played) if played else "was never asked",
        }

    def _expected(self, expectation: Expectation, reference: Exchange | None) -> JsonObject:
        planned: Sequence[_Step] = [(call, None) for call in expectation.calls]
        facts = [resolve(fact, self.evidence.transcript.outputs) for fact in expectation.facts or ()]
        told: dict[str, Json] = {
            "calls": self._told((reference.calls if reference else ()) or planned),
            "outcome": _outcome(expectation),
            "refusal": self._cut(expectation.refusal),
            "facts": self._cut(facts),
            "asks_back": expectation.asks,
            "reply": self._cut(expectation.answer.text if expectation.answer else ""),
        }
        return {name: value for name, value in told.items() if value}

    def _agent(self, played: Exchange) -> JsonObject:
        told: JsonObject = {"steps": self._told(_steps(played.messages)), "reply": self._cut(played.reply)}
        return {**told, "unfinished": True} if played.cut else told

    def _told(self, steps: Sequence[_Step]) -> Sequence[Json]:
        """Return all steps; if they are many, the first and the last."""
        left_out = len(steps) - self.most_steps
        if left_out <= 0:
            return [self._step(step) for step in steps]
        half = self.most_steps // 2
        first, last = steps[:half], steps[half + left_out :]
        between = f"… {left_out:,} steps more, {len(steps):,} in all"
        return [*map(self._step, first), between, *map(self._step, last)]

    def _step(self, step: _Step) -> JsonObject:
        if isinstance(step, str):
            return {"said": self._cut(step)}
        call, result = step
        told: JsonObject = {"tool": self._cut(call.tool), "arguments": self._cut(call.arguments)}
        if result is None:
            return told
        if result.error is not None:
            return {**told, "error": self._cut(result.error.message)}
        told = {**told, "result": self._cut(result.value)}
        return {**told, "note": self._cut(result.note)} if result.note else told

    def _crm(self) -> JsonObject:
        case, evidence = self.case, self.evidence
        told = {TABLES[entity][0]: rows for entity, rows in case.expected_state.items()}
        seeded = frozenset(row_id for rows in case.seed.values() for row_id in rows)
        expected = {table: rows for table, rows in evidence.reference.after.items() if table not in told}
        actual = {table: rows for table, rows in evidence.after.items() if table not in told}
        found = {"crm_differences": self._cut(differences(expected, actual, seeded), _DIFFERENCES)}
        return {**found, "crm_tables": self._tables(told)} if told else found

    def _tables(self, told: Mapping[str, Sequence[Mapping[str, Json]]]) -> JsonObject:
        """Return the tables for which the case itself says what they hold at the end, and what they do hold."""
        outputs = self.evidence.transcript.outputs
        return {
            table: {
                "expected": self._cut([resolve(dict(row), outputs) for row in rows]),
                "actual": self._cut(self.evidence.after.get(table, ())),
            }
            for table, rows in told.items()
        }

    def _cut(self, value: object, times: int = 1) -> Json:
        return self.excerpts.of(value, times * self.longest)


def _outcome(expectation: Expectation) -> str:
    if not expectation.calls:
        return "nothing is called"
    return "done" if expectation.succeeds else "refused by the CRM"


def _steps(messages: Sequence[Message]) -> Sequence[_Step]:
    """Return what the agent said and called on its way to the reply."""
    steps: list[_Step] = []
    for asked, answered in pairwise(messages):
        if asked.speaker == "agent":
            steps += [asked.text] if asked.text else []
            steps += zip(asked.calls, answered.results, strict=False)
    return steps


def _at(exchanges: Sequence[Exchange], place: int) -> Exchange | None:
    return exchanges[place] if place < len(exchanges) else None
