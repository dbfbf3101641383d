"""Small projects that tests run pytest in."""

import json
from pathlib import Path
from typing import Any


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


def failing(case_id: str) -> dict[str, Any]:
    """Return a case that ``bots:Half`` fails."""
    record = case(case_id)
    record["turns"][0]["user_utterance"] = "Please create Ada Ltd, ada@ada.example, active."
    return record


def report_of(path: Path) -> dict[str, Any]:
    """Return the latest report of the project at ``path``."""
    document: dict[str, Any] = json.loads((path / "reports" / "latest.json").read_text(encoding="utf-8"))
    return document
