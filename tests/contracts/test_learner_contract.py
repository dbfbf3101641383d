"""No role of a learner ever sees values that only the answer key or the scorers know."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval import agents
from pytest_crmeval.domain.messages import ToolCall
from tests.atlas_models import roles_in
from tests.leak_detector import FLAGS, leaves
from tests.providers.answers import Answer, Call, Say
from tests.providers.loopback import Loopback, Seen

BUNDLED = Path(__file__).parents[2] / "evals" / "data" / "crm.jsonl"
AGENTS = Path(agents.__file__).parent
ATLAS = "atlas?student=openai:small&teacher=openai:large&retries=1&samples=2"
SCORES = ("strict_success", '"passed"', '"failed"', "crm_state", "verdict=", "answer key")
"""Words that only scorers use."""
SHORTEST = 6


def clueless(seen: Seen) -> Answer:
    """Make a write that was not requested, so that all roles are called; learn nothing."""
    if seen.tools == ("review",):
        return _called("review", {"verdict": "correct", "guidance": "Look first."} if _first(seen) else _APPROVED)
    if seen.tools == ("reward",):
        split = len(seen.last_user_text) % 2 * 50
        return _called("reward", {"reason": "who knows", "score": split, "uncertainty": 90})
    if seen.tools == ("revise",):
        return _called("revise", {"entries": [], "drop": [], "student_notes": "", "teacher_notes": ""})
    if seen.results:
        return Say("I could not do that.")
    return _called("create_new_client", {"name": "Zzyzx", "email": "z@z.example", "status": "Active"})


_APPROVED = {"verdict": "approve", "guidance": ""}


def _first(seen: Seen) -> bool:
    return "<guidance-so-far>" not in seen.last_user_text


def _called(tool: str, arguments: dict[str, Any]) -> Answer:
    return Call(ToolCall(tool=tool, arguments=arguments))


def bundled(count: int) -> list[dict[str, Any]]:
    """Return bundled cases of all kinds that are learned from."""
    records = [json.loads(line) for line in BUNDLED.read_text(encoding="utf-8").splitlines()]
    train = [record for record in records if record["split"] == "train"]
    return train[:: len(train) // count][:count]


def secrets_of(record: dict[str, Any]) -> Iterator[str]:
    """Yield the values of the answer key of a case, and its name."""
    yield record["conversation_id"]
    for turn in record["turns"]:
        key = [value for name, value in turn.items() if name not in {"turn_id", "user_utterance", "expected_tool"}]
        yield from (str(leaf) for leaf in leaves(key) if isinstance(leaf, str | int | float))


def leaked(request: dict[str, Any], secrets: set[str], known: str) -> list[str]:
    """Return values of the answer key or scores in a request that neither the user nor the CRM has mentioned."""
    text = "\n".join(str(message["content"]) for message in request["messages"]).replace("\\", "")
    words = [secret for secret in secrets if len(secret) >= SHORTEST and "{{" not in secret]
    return [secret for secret in (*words, *FLAGS, *SCORES) if secret in text and secret not in known]


def heard(server: Loopback) -> str:
    """Return what users and the CRM said in the student's requests, the descriptions of tools, and numbers."""
    said: set[str] = set()
    for seen, role in zip(server.seen, roles_in(server.seen), strict=True):
        if role == "student":
            messages = seen.body["messages"]
            said |= {str(each["content"]) for each in messages if each["role"] in {"user", "tool"}}
            said.add(json.dumps(seen.body["tools"], ensure_ascii=False))
    orders = [path.read_text(encoding="utf-8") for path in AGENTS.rglob("*.md")]
    return "\n".join([*said, *orders]).replace("\\", "")


@pytest.mark.usefixtures("given_server")
def test_no_role_sees_the_answer_key(project: Callable[..., pytest.Pytester], monkeypatch: pytest.MonkeyPatch) -> None:
    """In all requests of all roles, in conversations of all kinds; and a leak would be found."""
    records = bundled(4)
    with Loopback(clueless) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        project(records).runpytest("--crmeval-agent", ATLAS, "-p", "no:xdist")
    known = heard(server)
    secrets = {secret for record in records for secret in secrets_of(record)}
    unsaid = [secret for secret in secrets if len(secret) >= SHORTEST and "{{" not in secret and secret not in known]

    assert {"student", "teacher", "reward", "learner"} == set(roles_in(server.seen))
    assert any(seen.model == "large" and seen.tools == ("reward",) for seen in server.seen), "no arbiter was asked"
    assert len(unsaid) >= len(records), "nothing could have leaked"
    assert [] == [found for seen in server.seen for found in leaked(seen.body, secrets, known)]
    shown = {"messages": [*server.seen[-1].body["messages"], {"content": unsaid[0]}]}
    assert unsaid[0] in leaked(shown, secrets, known)


def test_learning_session_has_no_access_to_the_answer_key() -> None:
    """Everything that a session receives is listed here, so a new name is a decision."""
    from pytest_crmeval.agents import learner

    given = {name: sorted(learner.SessionSetup.__slots__) for name in ("SessionSetup",)}

    assert {"SessionSetup": ["held_out", "key", "log", "models", "playbook", "student"]} == given
    assert not re.search(r"expectation|conversation import|score", Path(learner.__file__).read_text(encoding="utf-8"))
