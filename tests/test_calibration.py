"""Whether scores can be believed: on every bundled suite the perfect agent scores 1.000, and no lesser one does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.agents.scripted import mute
from pytest_crmeval.datasets.conversations import index
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall
from pytest_crmeval.domain.references import outputs_of, resolve
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.state import State
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.play.conversation import play
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.scoring.crm_state import crm_state
from pytest_crmeval.scoring.oracle import Oracle

SUITES = sorted((Path(__file__).parents[1] / "evals" / "data").glob("*.jsonl"))
EXTRA = ToolCall(
    tool="create_new_client", arguments={"name": "Unasked", "email": "unasked@unasked.example", "status": "Active"}
)


@pytest.fixture(scope="module", params=SUITES, ids=lambda path: path.stem)
def suite(request: pytest.FixtureRequest) -> list[Conversation]:
    """Return every case of a bundled suite."""
    return [ref.read() for ref in index([request.param])]


@dataclass(frozen=True)
class Flaw:
    """One thing that an otherwise perfect agent does wrong: it makes other calls in one turn."""

    turn: int
    calls: Sequence[ToolCall]


class Flawed:
    """The oracle with one flaw."""

    name = "flawed"

    def __init__(self, case: Conversation, flaw: Flaw) -> None:
        self._oracle = Oracle(case)
        self._flaw = flaw

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Do what the oracle does, except in one turn."""
        reply = self._oracle.reply(messages, tools)
        turn = sum(message.speaker == "user" for message in messages)
        if not reply.calls or turn != self._flaw.turn:
            return reply
        return Reply(text="Done.", calls=[_resolved(call, messages) for call in self._flaw.calls])


def changed_argument(case: Conversation, tools: Mapping[str, Tool]) -> Iterator[Flaw]:
    """Change one argument of the last write; each argument in its turn."""
    *_, (turn, call) = _writes(case)
    for name, value in call.arguments.items():
        if not str(value).startswith("{{"):
            other = _other(value, tools[call.tool].parameters, name)
            yield Flaw(turn, [ToolCall(tool=call.tool, arguments={**call.arguments, name: other})])


def dropped_write(case: Conversation, tools: Mapping[str, Tool]) -> Iterator[Flaw]:
    """Leave one write out; each write in its turn."""
    del tools
    for turn, _ in _writes(case):
        yield Flaw(turn, [])


def doubled_write(case: Conversation, tools: Mapping[str, Tool]) -> Iterator[Flaw]:
    """Create one row twice; each one in its turn. To change a row twice is to change it once."""
    del tools
    for turn, call in _writes(case):
        if not call.tool.startswith("modify_"):
            yield Flaw(turn, [call, call])


def extra_write(case: Conversation, tools: Mapping[str, Tool]) -> Iterator[Flaw]:
    """Do everything right, and something that nobody asked for."""
    del tools
    yield Flaw(len(case.turns), [case.turns[-1].expectation.call, EXTRA])


FLAWS = [changed_argument, dropped_write, doubled_write, extra_write]


def test_there_are_bundled_suites() -> None:
    """Otherwise this file would say nothing."""
    assert "crm" in [path.stem for path in SUITES]


def test_the_oracle_scores_1(crm: Crm, suite: list[Conversation]) -> None:
    """Below that, the harness is wrong; the reason says where."""
    scores = [scored(case, Oracle(case), crm)[0] for case in suite]

    assert [] == [score.reason for score in scores if not score.passed]
    assert 1.000 == sum(score.value for score in scores) / len(scores)


def test_the_oracle_is_refused_only_where_the_case_says_so(crm: Crm, suite: list[Conversation]) -> None:
    """An answer key that contradicts itself measures nothing."""
    for case in suite:
        expected = [not turn.expectation.succeeds for turn in case.turns]

        assert expected == refusals(scored(case, Oracle(case), crm)[1])


def test_mute_scores_0(crm: Crm, suite: list[Conversation]) -> None:
    """No case is passed by doing nothing."""
    scores = [scored(case, mute(), crm)[0] for case in suite]

    assert 0.000 == sum(score.value for score in scores) / len(scores)


@pytest.mark.parametrize("flaws", FLAWS, ids=lambda flaws: flaws.__name__)
def test_a_flawed_oracle_is_caught(
    crm: Crm, suite: list[Conversation], flaws: Callable[[Conversation, Mapping[str, Tool]], Iterator[Flaw]]
) -> None:
    """Always, when the CRM took what it did; and in most cases there is something to be done wrong."""
    tools = {tool.name: tool for tool in crm.tools}
    tried, missed = set(), []
    for case in suite:
        for flaw in flaws(case, tools):
            score, transcript = scored(case, Flawed(case, flaw), crm)
            if taken(transcript, case, flaw):
                tried.add(case.id)
                missed += [(case.id, flaw)] if score.passed else []

    assert [] == missed
    assert len(tried) > len(suite) / 2


def scored(case: Conversation, agent: Agent, crm: Crm) -> tuple[Score, Transcript]:
    """Play a case, and score what the agent left behind against what the oracle leaves behind."""
    reference, _, _ = played(case, Oracle(case), crm)
    after, before, transcript = played(case, agent, crm)
    evidence = Evidence(transcript=transcript, before=before, after=after, reference=reference)
    return crm_state(case, evidence), transcript


def played(case: Conversation, agent: Agent, crm: Crm) -> tuple[State, State, Transcript]:
    """Return the CRM after and before a conversation, and the transcript."""
    with crm.seeded(case.seed):
        before = crm.snapshot()
        transcript = play(case, agent, crm)
        return crm.snapshot(), before, transcript


def refusals(transcript: Transcript) -> list[bool]:
    """Return for each call whether it was refused."""
    return [result.refused for exchange in transcript.exchanges for _, result in exchange.calls]


def taken(transcript: Transcript, case: Conversation, flaw: Flaw) -> bool:
    """Whether the CRM did all that the flawed turn asked for; what the case expects to be refused apart."""
    results = [result for _, result in transcript.exchanges[flaw.turn - 1].calls]
    expected = case.turns[flaw.turn - 1].expectation
    return not any(result.refused for result in results[0 if expected.succeeds else 1 :])


def _writes(case: Conversation) -> list[tuple[int, ToolCall]]:
    """Return the calls that change something, with the number of their turn."""
    return [
        (number, turn.expectation.call)
        for number, turn in enumerate(case.turns, start=1)
        if turn.expectation.succeeds and not turn.expectation.call.tool.endswith("_search")
    ]


def _resolved(call: ToolCall, messages: Sequence[Message]) -> ToolCall:
    arguments = resolve(call.arguments, outputs_of(messages))
    assert isinstance(arguments, Mapping)
    return ToolCall(tool=call.tool, arguments=arguments)


def _other(value: Json, parameters: Mapping[str, Json], name: str) -> Json:
    """Return another value that the tool's schema allows."""
    assert isinstance(parameters["properties"], Mapping)
    choices = _choices(parameters["properties"][name])
    if choices:
        return next(choice for choice in choices if choice not in {value, None})
    if isinstance(value, (int, float)):
        return value + 1
    assert isinstance(value, str)
    try:
        return str(date.fromisoformat(value) + timedelta(days=1))
    except ValueError:
        return f"x{value}"


def _choices(schema: Any) -> Sequence[Json]:  # noqa: ANN401 (JSON Schema)
    """Return the choices that a schema leaves, also when null is one of them."""
    parts = [schema, *schema.get("anyOf", ())]
    return [choice for part in parts for choice in part.get("enum", ())]
