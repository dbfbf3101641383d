"""Shards: their notation, their cases, and which are missing."""

import json
import os
import random
import subprocess
import sys
from collections import Counter

import pytest

from pytest_crmeval.collect.shards import assigned_shards
from pytest_crmeval.journal.shard import Shard, ShardSyntaxError, listed, missing_shards
from tests.kept_runs import part


def test_shard_is_parsed_as_it_is_shown() -> None:
    assert (Shard(index=2, of=4), "2/4") == (Shard.parse("2/4"), str(Shard.parse("2/4")))


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "-1/4", "a/b", "2/4/6", " 2/4", "2/4\n", "٢/٤", "1/10000"])
def test_invalid_shard_is_refused(text: str) -> None:
    with pytest.raises(ShardSyntaxError, match="must be I/N, the I-th of N parts, for example 1/4"):
        Shard.parse(text)


@pytest.mark.parametrize("seed", range(20))
def test_every_case_is_in_one_shard_and_loads_are_balanced(seed: int) -> None:
    """The loads of two shards differ by at most the heaviest case."""
    dice = random.Random(seed)  # noqa: S311 (no secret)
    weights = {f"case-{number}": float(dice.randint(1, 30)) for number in range(dice.randint(1, 300))}
    of = dice.randint(1, 12)

    assigned = assigned_shards("crm", weights, of)

    assert weights.keys() == assigned.keys()
    loads: Counter[int] = Counter(dict.fromkeys(range(1, of + 1), 0))
    for case, index in assigned.items():
        loads[index] += int(weights[case])
    assert set(range(1, of + 1)) == loads.keys()
    assert max(loads.values()) - min(loads.values()) <= max(weights.values())


def test_many_shards_are_listed_in_one_line() -> None:
    shown = listed(missing_shards([part("1/9999")]))

    assert shown.startswith("2/9999, 3/9999, ")
    assert shown.endswith(", 13/9999 ... and 9986 more")


def test_order_of_cases_does_not_matter() -> None:
    """Files may be read in any order."""
    weights = {f"case-{number}": float(number % 3) for number in range(100)}
    backwards = dict(reversed(weights.items()))

    assert assigned_shards("crm", weights, 4) == assigned_shards("crm", backwards, 4)


def test_hash_seed_of_a_process_does_not_matter() -> None:
    """Each machine has its own."""
    program = (
        "import json; from pytest_crmeval.collect.shards import assigned_shards; "
        "print(json.dumps(assigned_shards('crm', {f'case-{n}': n % 5 for n in range(50)}, 3)))"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    ]

    assert assigned_shards("crm", {f"case-{n}": n % 5 for n in range(50)}, 3) == json.loads(found[0])
    assert found[0] == found[1]


def test_two_suites_can_have_the_same_ids() -> None:
    """They are divided separately and differently: the odd case is not always in the first shard."""
    assigned = [assigned_shards(f"suite-{number}", {"one": 1.0}, 4)["one"] for number in range(40)]

    assert {1, 2, 3, 4} == set(assigned)


def test_more_shards_than_cases_are_allowed() -> None:
    assert 3 == len(set(assigned_shards("crm", {"one": 1.0, "two": 1.0, "three": 1.0}, 8).values()))


@pytest.mark.parametrize(
    ("parts", "missing"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([part()], [], id="no shard"),
        pytest.param([part("1/2"), part("2/2")], [], id="all"),
        pytest.param([part("2/4")], ["1/4", "3/4", "4/4"], id="one"),
        pytest.param([part("1/2"), part("1/2")], ["2/2"], id="one, resumed"),
        pytest.param([part("1/2"), part("2/2", agents=["mute"])], ["1/2 of mute", "2/2 of oracle"], id="each his own"),
        pytest.param([part("1/1"), part("1/2")], ["2/2"], id="of two sizes"),
    ],
)
def test_missing_shards_are_listed(parts: list[dict[str, object]], missing: list[str]) -> None:
    """For each agent: a matrix may have one job per agent."""
    assert missing == missing_shards(parts)  # type: ignore[arg-type] # JSON
