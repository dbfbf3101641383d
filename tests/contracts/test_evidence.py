"""An agent may change the objects that it receives: evidence, tools and the next trial are not affected."""

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play, play_reference
from pytest_crmeval.conversations.scorers.named import SCORERS
from pytest_crmeval.conversations.scorers.outcomes import outcomes_of
from pytest_crmeval.domain.conversation import NOW, Seed
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall
from pytest_crmeval.domain.score import Verdict, verdict_of
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.ports.crm import Crm
from tests.fakes import call, conversation, planned, turn

ACME = "5fcdb532-cec1-59dd-933c-2ef2b966d0b0"
SEED: Seed = {"Client": {ACME: {"name": "Acme", "email": "a@acme.example"}}}
CASE = conversation(
    turn("Who is Acme?", call("client_search", name="Acme")),
    turn("So it is {{turn_1.name}}?", call("client_search", name="{{turn_1.name}}")),
    seed=SEED,
)


class Vandal:
    """Looks Acme up, and then modifies every object that it can reach."""

    name = "vandal"

    def __init__(self) -> None:
        self._arguments: dict[str, Any] = {"name": "Acme"}
        self.heard: list[str] = []

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Answer, and modify."""
        if messages[-1].speaker == "user":
            self.heard.append(messages[-1].text)
            self._arguments["name"] = "Acme"
            return Reply(calls=[ToolCall(tool="client_search", arguments=self._arguments)])
        self._arguments["name"] = "spoilt"
        for message in messages:
            for result in message.results:
                rows: Any = result.value
                rows[0]["name"] = "spoilt"
                rows.append("spoilt")
        for tool in tools:
            parameters: Any = tool.parameters
            parameters["properties"].clear()
        return Reply(text="It is spoilt.")


def test_evidence_describes_the_trial(crm: Crm) -> None:
    """Calls as they were made, results as they came back, and the user's references follow them."""
    vandal = Vandal()

    with crm.seeded(SEED, NOW):
        transcript = play(CASE, vandal, crm)

    made = [(made.arguments, result.value) for exchange in transcript.exchanges for made, result in exchange.calls]
    assert ["Who is Acme?", "So it is Acme?"] == vandal.heard
    assert [{"name": "Acme"}] * 2 == [arguments for arguments, _ in made]
    assert [["Acme"]] * 2 == [[row["name"] for row in rows] for _, rows in made]  # type: ignore[union-attr, index, call-overload] # rows


def test_the_next_trial_has_its_own_tools(crm: Crm) -> None:
    with crm.seeded(SEED, NOW):
        before = deepcopy(crm.tools)
        play(CASE, Vandal(), crm)
        spoilt = crm.tools
    with crm.seeded(SEED, NOW):
        after = crm.tools

    assert before != spoilt
    assert before == after


def abyss() -> Any:  # noqa: ANN401 (JSON, as it were)
    """Return a list that is nested deeper than Python's stack."""
    value: Any = []
    for _ in range(5000):
        value = [value]
    return value


class Odd:
    """Sends calls that no schema allows."""

    name = "odd"

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Make an invalid call."""
        del tools
        if messages[-1].speaker == "crm":
            return Reply(text="Done for Bolt. \x1b[31m")
        sent: list[Any] = [
            ("client_search", {"name": abyss()}),
            ("client_search", {"name": 10**5000}),
            ("client_search", {"criteria": {"name": abyss()}}),
            ("modify_client", {"client_id": abyss(), "updates": abyss()}),
            ("modify_client", abyss()),
            (abyss(), {}),
            (7, None),
        ]
        return Reply(calls=[ToolCall(tool=tool, arguments=arguments) for tool, arguments in sent])


def test_malformed_replies_of_an_agent_are_scored_and_explained(crm: Crm) -> None:
    """It is the agent's fault, not an infrastructure failure."""
    evidence = observe(CASE, Odd(), crm, play_reference(CASE, Oracle(CASE), crm))

    scores = tuple(scorer(CASE, evidence) for scorer in SCORERS.values())
    turns = tuple(outcomes_of(CASE, evidence))
    trial = Trial(
        planned=planned(), verdict=verdict_of(scores), scores=scores, turns=turns, transcript=evidence.transcript
    )

    assert Verdict.FAILED is trial.verdict
    assert [False, False] == [turn.called for turn in turns]
    assert r"agent  Done for Bolt. \x1b[31m" in trial.explain()
    assert trial == Trial.from_dict(json.loads(json.dumps(trial.to_dict())))


def test_equal_rows_are_found_in_the_order_of_their_creation(crm: Crm) -> None:
    """In every trial: later turns refer to the first one."""
    new: Any = {"client_id": ACME, "name": "Vans", "amount": 5000, "stage": "Proposal"}

    for _ in range(5):
        with crm.seeded(SEED, NOW):
            for owner in "abcdef":
                crm.call(call("create_new_opportunity", **new, owner=owner))
            found: Any = crm.call(call("opportunity_search", name="Vans")).value

        assert [*"abcdef"] == [row["owner"] for row in found]
