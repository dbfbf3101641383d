"""Thoughts of reasoning models are kept and shown, and never scored, judged or sent back."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_crmeval import ToolCall
from tests.projects import ADA, case, report_of
from tests.providers.answers import Answer, Call, Malformed, Say
from tests.providers.loopback import Loopback, Seen
from tests.questions import lines, record

Providers = Callable[..., Loopback]
THOUGHT = "The user hopes for 4711 zebras."
QUESTIONS = """
import pytest

@pytest.mark.questions("q.jsonl")
def test_question(question, evaluate):
    assert evaluate(question).passed
"""


def chat(content: str, **more: Any) -> Answer:  # noqa: ANN401 (JSON)
    """Return an answer of a compatible server, with its own fields."""
    message = {"role": "assistant", "content": content, **more}
    return Malformed(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())


def asked(pytester: pytest.Pytester, *agents: str) -> dict[str, Any]:
    """Ask one question, and return its trial."""
    pytester.makepyfile(test_q=QUESTIONS)
    pytester.path.joinpath("q.jsonl").write_text(lines(record("capital")), encoding="utf-8")
    pytester.makeini("[pytest]")
    pytester.runpytest(*(word for agent in agents for word in ("--crmeval-agent", agent)), "-p", "no:xdist")
    (trial,) = report_of(pytester.path)["trials"]
    found: dict[str, Any] = trial
    return found


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        pytest.param(Say("<think>Answer: Paris</think>Answer: Lyon"), "failed", id="right thought, wrong reply"),
        pytest.param(Say("<thinking>Answer: Lyon</thinking>Answer: Paris"), "passed", id="wrong thought, right reply"),
        pytest.param(Say("Answer: Lyon, surely</think>Answer: Paris"), "passed", id="no beginning"),
        pytest.param(Say("Hm.\n<think>Answer: Paris", cut=True), "failed", id="no end"),
        pytest.param(chat("Answer: Lyon", reasoning_content="Answer: Paris"), "failed", id="reasoning_content"),
        pytest.param(chat("Answer: Paris", reasoning="Answer: Lyon"), "passed", id="reasoning"),
    ],
)
def test_thoughts_are_not_scored(pytester: pytest.Pytester, providers: Providers, answer: Answer, verdict: str) -> None:
    providers([answer])

    assert verdict == asked(pytester, "openai:m?retries=0")["verdict"]


@pytest.mark.parametrize("agent", ["openai:m?retries=0", "openai:m?retries=0&api=responses", "anthropic:m?retries=0"])
def test_reply_with_only_thoughts_has_a_note(pytester: pytest.Pytester, providers: Providers, agent: str) -> None:
    """With any API: in the notes, in the reason and on the terminal."""
    providers([Say("<think>Answer: Paris")])

    trial = asked(pytester, agent)

    assert ("failed", ["m returned only thoughts: the reply is empty"]) == (trial["verdict"], trial["notes"])
    assert "not attempted, expected 'Paris', actual only thoughts" in trial["scores"][0]["reason"]


def thinking(seen: Seen) -> Answer:
    """Think, then call; think, then answer."""
    if not seen.results:
        return Call(ToolCall(tool="create_new_client", arguments=dict(ADA)), text=f"<think>{THOUGHT}</think>")
    return Say(f"<think>{THOUGHT}</think>Ada Ltd is a client now. They always pay us in cash.")


@pytest.mark.usefixtures("given_server")
@pytest.mark.parametrize("agent", ["openai:m?retries=0", "anthropic:m?retries=0"])
def test_thoughts_are_stored_and_never_sent_back(
    project: Callable[..., pytest.Pytester], providers: Providers, agent: str
) -> None:
    """In two turns of a conversation: transcript, cassette and page have them; requests and the judge don't."""
    server = providers(thinking)
    two_turns = case("one")
    bob = {"name": "Bob Ltd", "email": "bob@bob.example", "status": "Active"}
    asked_for = {"user_utterance": "Add Bob Ltd, bob@bob.example, active.", "expected_args": bob}
    two_turns["turns"].append({**two_turns["turns"][0], "turn_id": 2, **asked_for})
    pytester = project([two_turns])

    pytester.runpytest("--crmeval-agent", agent, "--crmeval-record", "tapes", "--crmeval-judge", "openai:j?retries=0")

    assert len(server.seen) >= 3
    assert [] == [seen for seen in server.seen if THOUGHT in json.dumps(seen.body)]
    (transcript,) = {path.resolve() for path in pytester.path.glob("reports/*/transcripts/**/one*.json")}
    (tape,) = [path for path in pytester.path.glob("tapes/**/*.jsonl") if "judge" not in path.name]
    messages = [message for turn in json.loads(transcript.read_text())["turns"] for message in turn["messages"]]
    assert {THOUGHT} == {message["thoughts"] for message in messages if message["speaker"] == "agent"}
    assert [] == [message for message in messages if "<think>" in message.get("text", "")]
    assert THOUGHT in tape.read_text()

    replayed = pytester.runpytest("--crmeval-agent", agent, "--crmeval-replay", "tapes")

    assert "not in the cassette" not in replayed.stdout.str()
