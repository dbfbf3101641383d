"""Answers that a real Piston 3.1.1 has given, by case; data that is not ours to keep, and may be missing."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.sandboxes.piston.wire import PistonAnswer

DATA = "shared/data/piston/responses.jsonl"


@cache
def recordings() -> dict[str, dict[str, Any]]:
    """Return all of them; a test that asks is skipped where there are none."""
    path = next((folder / DATA for folder in Path(__file__).parents if (folder / DATA).exists()), None)
    if path is None:
        pytest.skip(f"the recorded answers are not here: {DATA}")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {record["case"]: record for record in records}


def recorded(case: str) -> PistonAnswer:
    """Return one as our client would have read it."""
    record = recordings()[case]
    return PistonAnswer(status=record["status"], body=record["body"].encode(), seconds=record["secs"])
