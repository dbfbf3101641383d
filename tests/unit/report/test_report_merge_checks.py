"""Which runs fit together."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.report.merge_checks import merge_conflicts
from pytest_crmeval.report.sources import sources
from tests.fakes import planned, trial
from tests.kept_runs import keep, part

Facts = dict[str, Any]
TEST = "test_crm.py::test_conversation"


def found(folder: Path, *runs: tuple[list[Trial], Facts]) -> list[tuple[str, str]]:
    """Return what does not fit together in runs a, b, c."""
    names = "abcd"[: len(runs)]
    for name, (trials, facts) in zip(names, runs, strict=True):
        keep(folder, name, trials, parts=[facts])
    return [(misfit.kind, misfit.text) for misfit in merge_conflicts(sources(list(names), folder))]


def changed(**changes: Any) -> Trial:  # noqa: ANN401 (of any field)
    """Return a trial of a case that is not what it was."""
    return trial(replace(planned("one"), **changes))


def dealt(shard: str, **changes: object) -> Facts:
    """Return a shard of another whole, or of another hand."""
    facts = part(shard)
    tests = {TEST: {**facts["shard"]["tests"][TEST], **changes}}
    return {**facts, "shard": {**facts["shard"], "tests": tests}}


def narrowed(shard: str, by: str, mine: int = 1) -> Facts:
    """Return a shard of so many cases, of which pytest perhaps left out some."""
    facts = dealt(shard, mine={"oracle": mine})
    return {**facts, "shard": {**facts["shard"], "narrowed": by}}


ONE, TWO, MUTE = [trial("one")], [trial("two")], [trial(planned("one", subject="mute"), Verdict.FAILED)]


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([(ONE, part("1/2")), (TWO, part("2/2"))], id="shards"),
        pytest.param([(ONE, part("1/2"))], id="one"),
        pytest.param([(ONE, part()), (TWO, part())], id="other cases"),
        pytest.param([(ONE, part()), (MUTE, part(agents=["mute"]))], id="other agents"),
        pytest.param([(ONE, part("1/2")), (MUTE, part("1/2", agents=["mute"]))], id="the same shard of other agents"),
        pytest.param([(ONE, part()), ([*ONE, *TWO], part())], id="the same trial"),
        pytest.param([(ONE, part()), (ONE, part(sample=5, seed=7))], id="other samples"),
        pytest.param([(ONE, narrowed("1/2", "-k quote", 6)), (TWO, narrowed("2/2", "-k quote"))], id="the same -k"),
        pytest.param([(ONE, narrowed("1/2", "-k quote")), (TWO, narrowed("2/2", ""))], id="-k that leaves out none"),
        pytest.param([(ONE, part()), ([changed(key="test_b.py::test[one]", fingerprint="beef")], part())], id="test"),
    ],
)
def test_compatible_runs_have_no_conflicts(tmp_path: Path, runs: list[tuple[list[Trial], Facts]]) -> None:
    assert [] == found(tmp_path, *runs)


@pytest.mark.parametrize(
    ("runs", "kind", "text"),
    [
        pytest.param(
            [(ONE, part()), ([changed(fingerprint="beef")], part())],
            "content",
            "the case 'one' of crm differs between a and b",
            id="content",
        ),
        pytest.param(
            [(ONE, part()), ([changed(fingerprint="beef", subject="mute", key=f"{TEST}[mute-one]")], part())],
            "content",
            "the case 'one' of crm differs between a and b",
            id="content of another agent's",
        ),
        pytest.param(
            [(ONE, part("1/2")), (TWO, dealt("2/2", content="x"))],
            "content",
            f"the cases of {TEST} differ between a and b",
            id="content of a shard that is not there",
        ),
        pytest.param(
            [(ONE, part()), ([trial("one", Verdict.FAILED)], part())],
            "outcome",
            f"{TEST}[oracle-one] was played in two runs: passed in a, failed in b",
            id="outcome",
        ),
        pytest.param(
            [(ONE, part()), (TWO, part(scorers=["clbench"]))],
            "rules",
            "scorers in a: calls, reply, state, in b: clbench",
            id="scorers",
        ),
        pytest.param(
            [(ONE, part()), (TWO, part(judge="openai:gpt-4.1"))],
            "rules",
            "judge in a: none, in b: openai:gpt-4.1",
            id="judge",
        ),
        pytest.param(
            [(ONE, part()), (TWO, part(invalid="play"))],
            "rules",
            "invalid cases in a: reported, in b: played",
            id="invalid",
        ),
        pytest.param(
            [(ONE, part()), ([trial(replace(planned("two"), spec="bots:Closer"))], part())],
            "rules",
            "oracle is oracle in a, and bots:Closer in b",
            id="spec",
        ),
        pytest.param(
            [(ONE, part("1/2")), (TWO, part("2/3"))], "shards", "a is shard 1/2 and b is shard 2/3", id="sizes"
        ),
        pytest.param(
            [(ONE, part("1/2")), (TWO, part("1/2"))], "shards", "a and b are both shard 1/2 of oracle", id="twice"
        ),
        pytest.param(
            [(ONE, part()), (TWO, part("1/2"))], "shards", "b is shard 1/2, but a is not a shard", id="no shard"
        ),
        pytest.param(
            [(ONE, part("1/2")), (TWO, dealt("2/2", deal="x"))],
            "shards",
            f"the shards were made from different cases of {TEST}, or with different durations: 9 in a and 9 in b",
            id="another whole",
        ),
        pytest.param(
            [(ONE, part("1/2")), (TWO, narrowed("2/2", "-k quote", 6))],
            "shards",
            "b was run with -k quote, and a with no -k or -m",
            id="narrowed",
        ),
        pytest.param(
            [(ONE, narrowed("1/2", "")), (TWO, narrowed("2/2", "", 6))],
            "shards",
            f"b has only 1 of the 6 cases of {TEST} in this shard for oracle: run it again with all cases",
            id="one case by its node id",
        ),
    ],
)
def test_conflicts_are_named(tmp_path: Path, runs: list[tuple[list[Trial], Facts]], kind: str, text: str) -> None:
    """What is wrong is named, and nothing else."""
    assert [(kind, text)] == found(tmp_path, *runs)


def test_a_shard_may_be_resumed_with_less(tmp_path: Path) -> None:
    """``-k`` in a later part only leaves out what is done."""
    keep(tmp_path, "a", ONE, parts=[part("1/2"), narrowed("1/2", "-k one")])
    keep(tmp_path, "b", TWO, parts=[part("2/2")])

    assert [] == list(merge_conflicts(sources(["a", "b"], tmp_path)))


def test_a_shard_may_be_begun_with_less(tmp_path: Path) -> None:
    """A later part has made up for it; then the others must not have less either."""
    keep(tmp_path, "a", [*ONE, trial("three")], parts=[narrowed("1/2", "-k one", 2), narrowed("1/2", "", 2)])
    keep(tmp_path, "b", TWO, parts=[narrowed("2/2", "")])
    keep(tmp_path, "c", TWO, parts=[narrowed("2/2", "-k one", 2)])

    assert [] == list(merge_conflicts(sources(["a", "b"], tmp_path)))
    assert ["c was run with -k one, and a with no -k or -m"] == [
        misfit.text for misfit in merge_conflicts(sources(["a", "c"], tmp_path))
    ]


def test_merged_run_counts_as_all_its_shards(tmp_path: Path) -> None:
    """It can be merged with one that is missing."""
    keep(tmp_path, "a", [*ONE, *TWO], parts=[narrowed("1/3", ""), narrowed("2/3", ""), part(merged={})])
    keep(tmp_path, "b", [trial("three")], parts=[narrowed("3/3", "")])
    keep(tmp_path, "c", ONE, parts=[narrowed("1/3", ""), narrowed("2/3", ""), part(merged={})])

    assert [] == list(merge_conflicts(sources(["a", "b"], tmp_path)))
    assert [f"c has only 1 of the 2 cases of {TEST} in this shard for oracle: run it again with all cases"] == [
        misfit.text for misfit in merge_conflicts(sources(["c", "b"], tmp_path))
    ]
