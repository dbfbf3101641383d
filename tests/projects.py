"""Small projects that tests run pytest in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Written = Callable[..., Path]
"""Writes the lines of a dataset (records, text or bytes) to a file."""

DEV_DATA = Path(__file__).parents[2] / "shared" / "data" / "clbench_dev.jsonl"
"""Conversations of the published benchmark; they are not ours to ship, and not on every machine."""
ADA = {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"}


def case(case_id: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a small valid conversation: one turn, one client created."""
    turn = {
        "turn_id": 1,
        "user_utterance": "Add Ada Ltd, ada@ada.example, active.",
        "expected_tool": "create_new_client",
        "expected_args": dict(ADA),
    }
    return {"conversation_id": case_id, "turns": [turn], **changes}


def turned(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a case whose only turn is changed; None takes a field away."""
    record = case("one")
    turn = {**record["turns"][0], **changes}
    return {**record, "turns": [{name: value for name, value in turn.items() if value is not None}]}


def chain(*boundaries: int, summaries: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """Return a chain of three turns."""
    turns = [{**turned()["turns"][0], "turn_id": number} for number in (1, 2, 3)]
    context = {"segment_summaries": summaries or []}
    return case("one", turns=turns, chain_id="c-1", segment_boundaries=list(boundaries), cumulative_context=context)


PUBLISHED = case(
    "SKEL-ADD CLIENT_simple_1_0123abcd",
    workflow_category="General",
    complexity_level="simple",
    initial_entities={"seed_data": {"Client": {}, "Contact": {}, "Opportunity": {}, "Quote": {}, "Contract": {}}},
    final_expected_state={},
    success_criteria="all_turns",
    contains_failure=False,
    failure_turn=None,
    verification_mode="database",
    chain_id=None,
    segment_number=None,
    segment_boundaries=None,
    expected_outcome=None,
    cumulative_context={},
)
"""A case with all keys of the published format."""


def line_of(line: dict[str, Any] | str | bytes) -> bytes:
    """Return a record, a text or bytes as a line of a dataset."""
    if isinstance(line, bytes):
        return line + b"\n"
    text = line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)
    return text.encode() + b"\n"


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


class Chatty(Half):
    '''As right as Half; says more than the rules of `reply` can decide.'''

    name = "chatty"

    def reply(self, messages, tools):
        said = super().reply(messages, tools)
        return said if said.calls else Reply(text="Done. They always pay us in cash.")


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
