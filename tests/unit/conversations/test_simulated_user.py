"""What a simulated user says, and how it is checked."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_crmeval.conversations.dataset.files import index
from pytest_crmeval.conversations.lint.lint import Lint
from pytest_crmeval.conversations.scorers.simulated import forbidden_writes
from pytest_crmeval.conversations.simulated_user import UserDeviatedError, invented, observe_simulated, unsaid_facts
from pytest_crmeval.domain.conversation import Conversation, SimulatedUser
from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.messages import Message, Reply, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.ports.chat_model import Completion, ModelIdentity, Prompt
from pytest_crmeval.ports.scorer import Evidence, Reference
from tests.fakes import PaperCrm, Reciting, call, calls, conversation, says

KNOWN = [
    "Have a deal with Brightwater Foods changed.",
    "Its amount is $12,500.50 and it closes on March 31, 2026.",
    "The contact is Jane Dupont-Marly, jane@brightwater.example, +33 1 2345 6789. The probability is 25 %.",
]


@pytest.mark.parametrize(
    "text",
    [
        "Hi! Please set the amount of the Brightwater Foods deal to 12,500.50 dollars.",
        "It should close on 2026-03-31. I'm in a hurry, OK?",
        "Brightwater's contact is Jane, at jane@brightwater.example. Dupont-Marly is her last name.",
        "Two things: the probability is 25%, and the phone is +33 1 2345 6789.",
        "Yes, the first one. Thanks!",
        "By Friday, please.",
    ],
)
def test_values_of_the_facts_may_be_reformatted(text: str) -> None:
    assert [] == list(invented(text, KNOWN))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Set the amount to 12,600.", ["12,600"]),
        ("The probability is 30 percent.", ["30"]),
        ("Set it to 25,001, the sum of both.", ["25,001"]),
        ("It closes on 2026-04-01.", ["2026-04-01"]),
        ("Write to john@brightwater.example.", ["john@brightwater.example"]),
        ("It is the deal with Globex, not with Brightwater Foods.", ["Globex"]),
        ("Call Jane at +33 1 9999 0000.", ["33199990000"]),
    ],
)
def test_value_of_its_own_is_found(text: str, found: list[str]) -> None:
    assert found == list(invented(text, KNOWN))


def test_values_from_the_assistant_may_be_repeated() -> None:
    assert [] == list(invented("Yes, the one over 99,000 for Globex.", [*KNOWN, "Do you mean Globex, $99,000?"]))


def test_facts_that_the_user_never_mentioned_are_found() -> None:
    user = SimulatedUser(goal="x", facts=KNOWN)
    said = [KNOWN[0], "The amount is 12,500.50, closing 2026-03-31."]
    transcript = Transcript(exchanges=[Exchange(messages=[user_says(text)]) for text in said])

    assert [KNOWN[2]] == list(unsaid_facts(user, transcript))


class Model:
    """A model that says one text after the other, and notes what it was asked."""

    identity = ModelIdentity(provider="openai", model="user")

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)
        self.asked: list[Prompt] = []

    def complete(self, prompt: Prompt) -> Completion:
        """Say the next text, the last one for ever."""
        self.asked.append(prompt)
        text = self._texts.pop(0) if len(self._texts) > 1 else self._texts[0]
        return Completion(reply=Reply(text=text), usage=Usage(calls=1))


def talk(model: Model, agent: Reciting, messages: list[Message], facts: Sequence[str] = ("Add Ada.",)) -> Evidence:
    """Let an agent talk to a simulated user."""
    case = conversation("Add Ada.")
    simulated = Conversation(
        id=case.id, fingerprint="", turns=case.turns, seed={}, user=SimulatedUser(goal="Add Ada.", facts=facts)
    )
    return observe_simulated(simulated, agent, PaperCrm(), Reference(), model, max_steps=5, messages=messages)


def test_user_and_agent_talk_until_the_user_ends() -> None:
    model = Model("Add Ada.", "<think>Hm.</think>Thanks, Ada!", "Bye. [END]")
    agent, said = Reciting(calls(call("write")), says("Done."), says("You're welcome.")), list[Message]()

    evidence = talk(model, agent, said)

    assert [("Add Ada.", "Done."), ("Thanks, Ada!", "You're welcome.")] == [
        (exchange.messages[0].text, exchange.reply) for exchange in evidence.transcript.exchanges
    ]
    assert ["openai:user"] * 2 == [message.model for message in said if message.speaker == "user"]
    assert {""} == {message.model for shown in agent.shown for message in shown}  # the agent does not know
    last = [(message.speaker, message.text) for message in model.asked[-1].messages]
    assert [("agent", "Add Ada."), ("user", "Done."), ("agent", "Thanks, Ada!"), ("user", "You're welcome.")] == last[
        1:
    ]
    assert "- Add Ada." in model.asked[0].system


def test_dialogue_of_a_user_that_never_ends_is_limited() -> None:
    evidence = talk(Model("Add Ada."), Reciting(says("No.")), [])

    assert 8 == len(evidence.transcript.exchanges)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Add Bob, and Eve.", "it said 'Bob', 'Eve'"),
        ("<think>Ada</think>", "it said nothing"),
        ("Add Ada. [END]", "it ended the dialogue before it said anything"),
    ],
)
def test_user_that_deviates_ends_the_dialogue(text: str, error: str) -> None:
    with pytest.raises(UserDeviatedError, match=error):
        talk(Model(text), Reciting(says("No.")), [])


ROW = {"client_id": "c1", "name": "Ada", "status": "Active"}
NEW = {"opportunity_id": "o1", "client_id": "c1", "name": "X"}


@pytest.mark.parametrize(
    ("made", "after", "passed"),
    [
        ([("modify_client", {**ROW, "status": "Inactive"}), ("modify_client", ROW)], [ROW], False),
        ([("modify_client", {**ROW, "status": "Inactive"})], [{**ROW, "status": "Inactive"}], True),
        ([("modify_client", ROW)], [ROW], True),
        ([("client_search", ROW)], [ROW], True),
        ([("create_new_opportunity", NEW)], [ROW], False),
    ],
    ids=["undone", "left, which is a fault of the state", "changes nothing", "read", "created and deleted"],
)
def test_write_that_was_undone_is_a_fault(
    made: list[tuple[str, dict[str, str]]], after: list[dict[str, str]], *, passed: bool
) -> None:
    messages = [user_says("Go.")]
    for tool, row in made:
        messages += [agent_says(calls(call(tool))), crm_says([ToolResult(value=row)])]
    reference = Reference(before={"clients": [ROW]}, after={"clients": [ROW]})
    transcript = Transcript(exchanges=[Exchange(messages=messages)])

    score = forbidden_writes(
        conversation("Go."), Evidence(transcript=transcript, after={"clients": after}, reference=reference)
    )

    assert passed == score.passed
    assert passed == (not score.reason)


DATA = Path(__file__).parents[3] / "evals" / "data"


def test_bundled_file_is_what_the_script_writes_and_has_no_invalid_case() -> None:
    command = [sys.executable, str(DATA / "simulate_users.py")]
    written = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout

    assert written == (DATA / "simulated.jsonl").read_text(encoding="utf-8")
    lint = Lint().check_files([DATA / "simulated.jsonl"])
    assert (40, 0) == (lint.conversations, lint.invalid)


def test_value_that_the_user_does_not_know_makes_a_case_invalid(tmp_path: Path) -> None:
    turn = {"turn_id": 1, "expected_tool": "create_new_client", "expected_args": {"name": "Ada Ltd"}}
    lines = [{"conversation_id": name, "user": {"goal": goal}, "turns": [turn]} for name, goal in GOALS.items()]
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    defects = {ref.id: ref.read().defects for ref in index([path])}

    assert [False, True] == [bool(defects[name]) for name in GOALS]


@pytest.mark.parametrize(
    ("record", "turn", "error"),
    [
        ({}, {"user_utterance": "Add Ada."}, "user: turn 1 has user_utterance, but the user is simulated"),
        ({}, {"if_written": "Add Ada."}, "user: turn 1 has if_written, but the user is simulated"),
        ({}, {"if_not_asked": "Add Ada."}, "user: turn 1 has if_not_asked, but the user is simulated"),
        (
            {"trouble": [{"kind": "outage", "turn": 1, "tool": "list_clients"}]},
            {},
            "user: the user is simulated, so trouble is not supported; remove one of them",
        ),
    ],
    ids=["user_utterance", "if_written", "if_not_asked", "trouble"],
)
def test_field_that_depends_on_the_turn_is_refused_with_a_simulated_user(
    tmp_path: Path, record: dict[str, object], turn: dict[str, object], error: str
) -> None:
    turns = [{"turn_id": 1, "expected_tool": "list_clients", **turn}]
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps({"conversation_id": "one", "user": {"goal": "x"}, "turns": turns, **record}))

    with pytest.raises(DatasetError, match=error):
        index([path])


GOALS = {"known": "Have the client Ada Ltd added.", "unknown": "Have a client added."}
