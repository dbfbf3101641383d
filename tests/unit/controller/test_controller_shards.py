"""Which runs of shards can be resumed."""

from typing import Any

import pytest

from pytest_crmeval.controller.parts import other_shard
from pytest_crmeval.journal.shard import Shard
from tests.kept_runs import part

TEST = "test_crm.py::test_conversation"
MERGED = part(merged={"runs": ["a", "b"], "allowed": []})


def dealt(digest: str, test: str = TEST) -> dict[str, Any]:
    """Return the facts about the division of a run."""
    return {"tests": {test: {"cases": 9, "deal": digest, "content": "c"}}, "narrowed": ""}


@pytest.mark.parametrize(
    ("parts", "now", "what"),
    [
        pytest.param([], "1/2", dealt("d"), id="the first part"),
        pytest.param([part()], "", {}, id="no shards"),
        pytest.param([part("1/2")], "1/2", dealt("d"), id="the same shard"),
        pytest.param([part("1/2")], "1/2", dealt("x", "test_other.py::test"), id="another test"),
        pytest.param([part("1/2"), part("2/2"), MERGED], "", {}, id="merged, and whole"),
        pytest.param([part(), MERGED, part()], "", {}, id="merged of no shards, and resumed"),
    ],
)
def test_compatible_run_can_be_resumed(parts: list[dict[str, Any]], now: str, what: dict[str, Any]) -> None:
    assert "" == other_shard(parts, Shard.parse(now) if now else None, what)


@pytest.mark.parametrize(
    ("parts", "now", "why"),
    [
        pytest.param(
            [part("1/2")],
            "2/2",
            "was started as shard 1/2, so it can't be resumed as shard 2/2; add --crmeval-shard 1/2",
            id="another shard",
        ),
        pytest.param(
            [part("1/2")],
            "",
            "was started as shard 1/2, so it can't be resumed without shards; add --crmeval-shard 1/2",
            id="no shard",
        ),
        pytest.param(
            [part()],
            "1/2",
            "was started without shards, so it can't be resumed as shard 1/2; omit --crmeval-shard",
            id="a shard",
        ),
        pytest.param(
            [part("1/2"), part("2/2"), MERGED],
            "1/2",
            "was merged, so it can't be resumed as shard 1/2; omit --crmeval-shard",
            id="a shard of what was merged",
        ),
        pytest.param(
            [part("1/3"), MERGED], "", "was merged without the shards 2/3, 3/3; merge them as well", id="not whole"
        ),
        pytest.param(
            [part("1/2")],
            "1/2 of others",
            f"was started as shard 1/2 of other cases of {TEST}; select the same cases (tags, split, sample, "
            "crmeval_durations)",
            id="another whole",
        ),
    ],
)
def test_incompatible_run_cannot_be_resumed(parts: list[dict[str, Any]], now: str, why: str) -> None:
    shard, _, others = now.partition(" of ")

    assert why == other_shard(parts, Shard.parse(shard) if shard else None, dealt("x" if others else "d"))
