"""A trial as a judge sees it: the case, its answer key and what happened, but not the agent's name."""

from collections.abc import Sequence
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
"""Maximum length of a value and maximum steps of a turn; the first pair for which the trial fits is used."""
_DIFFERENCES = 4
"""The differences between the CRMs may be this many times as long as a value."""

_Step = str | tuple[ToolCall, ToolResult | None]
"""A text of the agent before its reply, or a call with its result; None if it was not made."""


class TooLargeError(Exception):
    """A trial with too many turns to be shown to a judge."""


def brief_of(case: Conversation, evidence: Evidence) -> str:
    """Return the trial as JSON of at most MOST characters; TooLargeError if it can't be cut to that."""
    excerpts = Excerpts(aliases_of(case, evidence))
    for longest, steps in _BOUNDS:
        text = encoded(_Brief(case, evidence, excerpts, longest, steps).whole())
        if len(text) <= MOST:
            return text
    raise TooLargeError(f"{len(case.turns)} turns are too many to be shown to a judge")


@dataclass(frozen=True, slots=True)
class _Brief:
    """A trial, with values and steps shortened to the bounds."""

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
        cuts = (
            f"Values of more than {self.longest:,} characters and turns of more than {self.most_steps} steps are cut."
        )
        shortened = {} if self.longest == _BOUNDS[0][0] else {"shortened": cuts}
        return {"now": self.case.now.isoformat(), **shortened, "turns": turns, **self._crm()}

    def _turn(self, turn: Turn, played: Exchange | None, reference: Exchange | None) -> JsonObject:
        said = played.messages[0].text if played and played.messages else turn.utterance
        agent: Json = "was never asked"
        if played:
            agent = {"steps": self._steps(_steps_in(played.messages)), "reply": self._cut(played.reply)}
            agent = {**agent, "unfinished": True} if played.cut else agent
        return {
            "user": self._cut(said),
            "expected": self._expected(turn.expectation, reference),
            "agent": agent,
        }

    def _expected(self, expectation: Expectation, reference: Exchange | None) -> JsonObject:
        planned: Sequence[_Step] = [(call, None) for call in expectation.calls]
        facts = [resolve(fact, self.evidence.transcript.outputs) for fact in expectation.facts or ()]
        outcome = "done" if expectation.succeeds else "refused by the CRM"
        shown: dict[str, Json] = {
            "calls": self._steps((reference.calls if reference else ()) or planned),
            "outcome": outcome if expectation.calls else "nothing is called",
            "refusal": self._cut(expectation.refusal),
            "facts": self._cut(facts),
            "asks_back": expectation.asks,
            "reply": self._cut(expectation.answer.text if expectation.answer else ""),
        }
        return {name: value for name, value in shown.items() if value}

    def _steps(self, steps: Sequence[_Step]) -> Sequence[Json]:
        """Return all steps or, if there are too many, the first and the last ones."""
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
        shown: JsonObject = {"tool": self._cut(call.tool), "arguments": self._cut(call.arguments)}
        if result is None:
            return shown
        if result.error is not None:
            return {**shown, "error": self._cut(result.error.message)}
        shown = {**shown, "result": self._cut(result.value)}
        return {**shown, "note": self._cut(result.note)} if result.note else shown

    def _crm(self) -> JsonObject:
        """Return how the CRM differs from the reference, and the tables whose final rows the case itself lists."""
        case, evidence, outputs = self.case, self.evidence, self.evidence.transcript.outputs
        listed = {TABLES[entity][0]: rows for entity, rows in case.expected_state.items()}
        seeded = frozenset(row_id for rows in case.seed.values() for row_id in rows)
        expected = {table: rows for table, rows in evidence.reference.after.items() if table not in listed}
        actual = {table: rows for table, rows in evidence.after.items() if table not in listed}
        found = {"crm_differences": self._cut(differences(expected, actual, seeded), _DIFFERENCES)}
        tables: JsonObject = {
            table: {
                "expected": self._cut([resolve(dict(row), outputs) for row in rows]),
                "actual": self._cut(evidence.after.get(table, ())),
            }
            for table, rows in listed.items()
        }
        return {**found, "crm_tables": tables} if tables else found

    def _cut(self, value: object, times: int = 1) -> Json:
        return self.excerpts.of(value, times * self.longest)


def _steps_in(messages: Sequence[Message]) -> Sequence[_Step]:
    """Return the texts and calls of the agent before its reply."""
    steps: list[_Step] = []
    for asked, answered in pairwise(messages):
        if asked.speaker == "agent":
            steps += [asked.text] if asked.text else []
            steps += zip(asked.calls, answered.results, strict=False)
    return steps


def _at(exchanges: Sequence[Exchange], place: int) -> Exchange | None:
    return exchanges[place] if place < len(exchanges) else None
