"""The published JSON Schema of the agent protocol, and the requests and answers that it describes."""

import json
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_crmeval.agents.calling import AgentError
from pytest_crmeval.agents.protocol import reply_in, request, schema
from pytest_crmeval.domain.messages import Reply, Tool, ToolCall, ToolError, ToolResult, agent_says, crm_says, user_says

PUBLISHED = json.loads((files("pytest_crmeval") / "agents/agent-protocol.schema.json").read_text(encoding="utf-8"))
DIALOGUE = [
    user_says("Hello"),
    agent_says(Reply(text="One moment.", calls=[ToolCall(tool="find", arguments={"name": "Ada", "when": (1, 2)})])),
    crm_says(
        [
            ToolResult(value=None),
            ToolResult(value=[1, {"rate": 0.5}], note="part"),
            ToolResult(error=ToolError(kind="not_found", message="none")),
        ]
    ),
]
TOOL = Tool(name="find", description="Find a client.", parameters={"type": "object", "properties": {}})


def is_valid(kind: str, message: Any) -> bool:  # noqa: ANN401 (JSON)
    """Whether the published schema accepts a message as a request or as an answer."""
    return Draft202012Validator({**PUBLISHED, "anyOf": [{"$ref": f"#/$defs/{kind}"}]}).is_valid(message)


def test_published_schema_is_the_one_of_the_structs() -> None:
    """Written with ``json.dumps(schema(), indent=2)``."""
    assert schema() == PUBLISHED
    Draft202012Validator.check_schema(PUBLISHED)


def test_request_is_valid_and_an_answer_is_not_a_request() -> None:
    asked = json.loads(request("c1", DIALOGUE, [TOOL], 7.5))

    assert is_valid("Request", asked)
    assert not is_valid("Answer", asked)
    assert not is_valid("Request", {"text": "Hello"})
    assert ("c1", 7.5, [{"value": None}]) == (
        asked["conversation"],
        asked["seconds"],
        asked["messages"][2]["results"][:1],
    )


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"text": "Hello", "input_tokens": 3, "output_tokens": 1, "cost": 0.1, "conversation": "c1"},
        {"text": "Hello", "cost": None},
        {"calls": [{"tool": "find"}, {"tool": "find", "arguments": {"name": ["Ada"]}}]},
        {"txt": "Hello"},
        {"text": 5},
        {"text": None},
        {"calls": [{"arguments": {}}]},
        {"calls": [{"tool": "find", "arguments": "Ada"}]},
        {"calls": {"tool": "find"}},
        {"input_tokens": 1.5},
        {"input_tokens": -1},
        {"output_tokens": -1},
        {"cost": "much"},
        {"cost": -0.5},
        [],
        "Hello",
    ],
    ids=str,
)
def test_schema_accepts_an_answer_that_is_read(answer: object) -> None:
    try:
        reply_in(json.dumps(answer).encode(), "c1")
        is_read = True
    except AgentError:
        is_read = False

    assert is_read == is_valid("Answer", answer)
