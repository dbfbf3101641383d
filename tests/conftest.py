"""What the tests share: one PostgreSQL for all of them, small projects to run pytest in, no way out of the machine."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.fixtures import DATABASES

LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def _stay_home(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(address := arguments[1], tuple) and address[0] not in LOOPBACK:
        raise RuntimeError(f"a test wanted to leave this machine: {address}")


sys.addaudithook(_stay_home)


@pytest.fixture(scope="session")
def server(pytestconfig: pytest.Config) -> str:
    """Conninfo of a PostgreSQL that the whole test run shares: the one of our own plugin."""
    return pytestconfig.stash[DATABASES]().conninfo


@pytest.fixture
def given_server(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the pytest runs of a test use the shared server, which is faster than one of their own."""
    monkeypatch.setenv("CRMEVAL_DSN", server)
    return server


def case(case_id: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a small valid conversation: one turn, one client created."""
    turn = {
        "turn_id": 1,
        "user_utterance": "Add Ada Ltd, ada@ada.example, active.",
        "expected_tool": "create_new_client",
        "expected_args": {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"},
    }
    return {"conversation_id": case_id, "turns": [turn], **changes}


TEST_FILE = """
import pytest

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_conversation(conversation, evaluate):
    trial = evaluate(conversation)
    assert trial.passed, trial.explain()
"""

AGENTS_FILE = """
from pytest_crmeval import Reply, ToolCall


class Half:
    '''Right about every case whose user says "Add"; wrong otherwise.'''

    name = "half"

    def reply(self, messages, tools):
        if messages[-1].speaker == "crm" or not messages[-1].text.startswith("Add"):
            return Reply(text="Done.")
        arguments = {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"}
        return Reply(calls=[ToolCall(tool="create_new_client", arguments=arguments)])


class Broken:
    '''Its network is down.'''

    name = "broken"

    def reply(self, messages, tools):
        raise ConnectionError("no route to model")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Callable[..., pytest.Pytester]:
    """Return a function that makes a project: cases, a test file, agents, gates."""

    def make(cases: list[dict[str, Any]] | None = None, *, ini: str = "", test: str = TEST_FILE) -> pytest.Pytester:
        cases = [case("one"), case("two"), case("three")] if cases is None else cases
        lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in cases]
        Path(pytester.path, "cases.jsonl").write_text("".join(lines), encoding="utf-8")
        pytester.makepyfile(test_crm=test, bots=AGENTS_FILE)
        pytester.makeini(f"[pytest]\npythonpath = .\n{ini}")
        return pytester

    return make


def failing(case_id: str) -> dict[str, Any]:
    """Return a case that ``bots:Half`` fails."""
    record = case(case_id)
    record["turns"][0]["user_utterance"] = "Please create Ada Ltd, ada@ada.example, active."
    return record


def report_of(path: Path) -> dict[str, Any]:
    """Return the latest report of the project at ``path``."""
    document: dict[str, Any] = json.loads((path / "reports" / "latest.json").read_text(encoding="utf-8"))
    return document
