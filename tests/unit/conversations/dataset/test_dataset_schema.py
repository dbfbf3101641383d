"""The JSON Schema of conversation files."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_crmeval.conversations.dataset import schema
from tests.projects import case

SCHEMA: dict[str, Any] = json.loads(
    Path(schema.__file__).with_name("conversation.schema.json").read_text(encoding="utf-8")
)
BUNDLED = [Path(__file__).parents[4] / "evals" / "data" / "crm.jsonl"]
PUBLISHED = Path(__file__).parents[5] / "shared" / "data" / "clbench_dev.jsonl"


def test_the_file_is_what_the_records_say() -> None:
    assert schema.schema() == SCHEMA


@pytest.mark.parametrize("path", [*BUNDLED, PUBLISHED], ids=lambda path: path.stem)
def test_schema_accepts_all_existing_conversations(path: Path) -> None:
    """Ours and the published ones."""
    if not path.exists():
        pytest.skip(f"{path} is not here")
    validator = jsonschema.Draft202012Validator(SCHEMA)

    problems = [
        error.message
        for line in path.read_text(encoding="utf-8").splitlines()
        for error in validator.iter_errors(json.loads(line))
    ]

    assert [] == problems


@pytest.mark.parametrize(
    "wrong",
    [{"tag": ["x"]}, {"now": "tomorrow", "tags": 1}, {"turns": []}, {"expected_state": {"Customer": []}}],
    ids=str,
)
def test_schema_refuses_records_that_the_loader_refuses(wrong: dict[str, Any]) -> None:
    """A misspelt key, a wrong type, no turns, an unknown entity."""
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(case("one", **wrong))
