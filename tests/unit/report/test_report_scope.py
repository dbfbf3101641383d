"""What was left out of a run, all its parts together."""

from typing import Any

import pytest

from pytest_crmeval.report.scope import by_reason, left_out_of
from tests.kept_runs import part

FEW = {"q": {"no judge": 2}}
OTHERS = {"q": {"no judge": 1, "confidential": 1}, "browse": {"confidential": 5}}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param([part()], {}, id="nothing"),
        pytest.param([part(left_out=FEW), part(left_out=FEW)], FEW, id="resumed: the same again"),
        pytest.param([part(left_out=FEW), part()], FEW, id="resumed with another file"),
        pytest.param(
            [part("1/2", left_out=FEW), part("2/2", left_out=OTHERS), part(merged={})],
            {"q": {"no judge": 3, "confidential": 1}, "browse": {"confidential": 5}},
            id="shards: others",
        ),
        pytest.param(
            [part(agents=["a"], left_out=FEW), part(agents=["b"], left_out=FEW)],
            {"q": {"no judge": 4}},
            id="other agents: others",
        ),
        pytest.param([part(left_out="?"), part(left_out={"q": 1, "r": {"why": None}})], {}, id="what nobody can read"),
    ],
)
def test_cases_left_out_of_a_run_are_counted_by_reason(
    parts: list[dict[str, Any]], expected: dict[str, dict[str, int]]
) -> None:
    assert expected == left_out_of({"parts": parts})


def test_reasons_are_those_of_all_suites() -> None:
    assert {"no judge": 1, "confidential": 6} == by_reason(OTHERS)
