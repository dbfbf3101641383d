"""Runs joined to one."""

import errno
import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_crmeval.collect.shards import assigned_shards
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, Trial, TurnOutcome
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.journal import reader as journal
from pytest_crmeval.journal.transcripts import path_of, write
from pytest_crmeval.report import files as reports
from pytest_crmeval.report import merge as merging
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.sources import sources
from tests.fakes import planned, trial
from tests.kept_runs import keep, part

AGENTS = ("oracle", "mute", "gpt")


def merged(folder: Path, *runs: str, out: str = "out") -> Report:
    """Join runs of a folder."""
    return merging.merge(sources(runs, folder), folder, out)


def figures(report: Report) -> dict[str, Any]:
    """Return everything of a report that does not say where it comes from."""
    document: dict[str, Any] = json.loads(json.dumps(report.to_dict()))
    return {**document, "run": round(document["run"]["spent"], 6)}


def chance(dice: random.Random, subject: str, suite: str, case: str) -> Trial:
    """Return a trial that went as it happened to."""
    verdict = dice.choice(list(Verdict))
    played = trial(
        planned(case, suite=suite, subject=subject),
        verdict,
        scores={"state": dice.random(), "reply": dice.random()},
        seconds=round(dice.random(), 6),
    )
    if verdict in {Verdict.ERRORED, Verdict.INVALID}:
        return played
    turns = [
        TurnOutcome(tool="t", called=dice.random() < 0.5, replied=True, steps=dice.randint(1, 3), errors=0)
        for _ in range(dice.randint(1, 4))
    ]
    usage = Usage(input=dice.randint(0, 999), output=dice.randint(0, 99), calls=1)
    bill = Bill(usage=usage, cost=dice.randint(0, 999) / 1000) if subject == "gpt" else None
    labels = Labels(complexity=dice.choice(["simple", "complex"]), tags=(dice.choice("abc"),))
    return replace(played, turns=tuple(turns), bill=bill, labels=labels)


@pytest.mark.parametrize("seed", range(12))
def test_shards_merged_are_the_run_without_shards(tmp_path: Path, seed: int) -> None:
    """Whatever was played, by whom, in how many shards, in which order, and merged in which."""
    dice = random.Random(seed)  # noqa: S311 (no secret)
    agents, of = dice.sample(AGENTS, dice.randint(1, 3)), dice.randint(1, 6)
    suites = {suite: [f"case-{n}" for n in range(dice.randint(1, 25))] for suite in ("crm", "questions")}
    places = [(suite, case) for suite, cases in suites.items() for case in cases]
    played = {place: [chance(dice, agent, *place) for agent in agents] for place in places}
    unplayed = set(dice.sample(places, dice.randint(0, 2)))

    def write_run(name: str, cases: list[tuple[str, str]], shard: str = "") -> Report:
        dice.shuffle(cases)
        done = [each for place in cases if place not in unplayed for each in played[place]]
        left = [each.planned for place in cases if place in unplayed for each in played[place]]
        return keep(tmp_path, name, done, not_run=left, parts=[part(shard, agents=agents)])

    whole = write_run("whole", list(places))
    assigned = {suite: assigned_shards(suite, dict.fromkeys(cases, 1.0), of) for suite, cases in suites.items()}
    for index in range(1, of + 1):
        write_run(f"s{index}", [place for place in places if assigned[place[0]][place[1]] == index], f"{index}/{of}")

    report = merged(tmp_path, *dice.sample([f"s{index}" for index in range(1, of + 1)], of))

    assert figures(whole) == figures(report)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Return a folder with the two shards of an evaluation."""
    keep(tmp_path, "s1", [trial("one"), trial("two", Verdict.FAILED)], parts=[part("1/2")])
    early = part("2/2", started="2026-11-15T00:00:00+00:00")
    keep(tmp_path, "s2", [trial("three")], parts=[early], spent=0.25, red=[planned("three").key])
    return tmp_path


def test_a_merged_run_is_kept_like_any_run(two: Path) -> None:
    report = merged(two, "s1", "s2")

    past = journal.read(two / "out" / "trials.jsonl")
    again = reports.build(report.run, past.trials, past.planned.values())
    assert report.to_dict() == again.to_dict()
    document = json.loads((two / "out.json").read_text())
    assert report.to_dict() == document
    schema = json.loads((files("pytest_crmeval.report") / "report.schema.json").read_text())
    assert [] == [error.message for error in Draft202012Validator(schema).iter_errors(document)]
    assert "out" == str((two / "latest").readlink())


def test_merged_run_has_the_facts_of_its_parts(two: Path) -> None:
    run: dict[str, Any] = dict(merged(two, "s1", "s2").run)

    assert ("2026-11-15T00:00:00+00:00", "2026-11-16T02:19:00+00:00") == (run["started"], run["ended"])
    assert (0.25, "Linux", "3.11.7") == (run["spent"], run["machine"], run["versions"]["python"])
    assert ["pytest", "pytest", "crmeval merge s1 s2 -o out"] == [each["command"] for each in run["parts"]]
    assert {"runs": ["s1", "s2"], "allowed": []} == run["parts"][-1]["merged"]


def test_a_shard_is_complete_and_not_the_whole(two: Path) -> None:
    """Alone it is; merged alone it is not."""
    shard = reports.load(two / "s1.json")

    assert (True, ["2/2"]) == (shard.complete, shard.missing)
    assert (False, ["2/2"]) == ((report := merged(two, "s1")).complete, report.missing)


def test_a_folder_called_latest_is_left_alone(two: Path) -> None:
    """Artifacts have no links: they have copies."""
    (two / "latest").unlink()
    (two / "latest").mkdir()

    merged(two, "s1", "s2")

    assert (True, True) == ((two / "latest").is_dir(), (two / "out.json").is_file())


def test_merged_runs_are_merged_again(two: Path) -> None:
    """When the last shard comes late."""
    merged(two, "s1", out="first")

    report = merged(two, "first", "s2")

    assert (True, [], 3) == (report.complete, report.missing, len(report.trials))


def test_the_same_trial_in_two_runs_is_one_and_was_paid_for_once(tmp_path: Path) -> None:
    """A run and a part of it that was copied out."""
    dear = replace(trial("one"), bill=Bill(usage=Usage(calls=1), cost=1.0))
    keep(tmp_path, "a", [dear])
    keep(tmp_path, "b", [dear, trial("two")], spent=0.5)

    report = merged(tmp_path, "a", "b")

    assert (2, 1.5) == (len(report.trials), report.run["spent"])


def test_the_later_run_wins_and_both_were_paid_for(tmp_path: Path) -> None:
    first, second = (
        replace(trial("one", verdict), bill=Bill(usage=Usage(calls=1), cost=cost))
        for verdict, cost in ((Verdict.FAILED, 1.0), (Verdict.PASSED, 2.0))
    )
    keep(tmp_path, "a", [first], red=[first.planned.key])
    keep(tmp_path, "b", [second])

    report = merged(tmp_path, "a", "b")

    assert ([Verdict.PASSED], 3.0) == ([each.verdict for each in report.trials], report.run["spent"])
    assert "red" not in report.run


def test_a_test_that_is_red_stays_red(tmp_path: Path) -> None:
    """Its trial does not tell."""
    keep(tmp_path, "a", [trial("one")], red=[planned("one").key])
    keep(tmp_path, "b", [trial("two")])

    assert [planned("one").key] == merged(tmp_path, "a", "b").run["red"]


def test_a_report_without_its_journal_will_do(two: Path) -> None:
    expected = figures(merged(two, "s1", "s2"))
    (two / "s1" / "trials.jsonl").unlink()
    (two / "s2" / "trials.jsonl").unlink()

    assert expected == figures(merged(two, "s1", "s2", out="again"))


def test_the_same_run_by_several_names_is_one(two: Path) -> None:
    """``reports/*`` names folder, report and links."""
    names = ["s1", str(two / "s1"), str(two / "s1.json"), str(two / "latest"), str(two / "latest.json"), "s2"]

    assert ["s1", str(two / "latest")] == [source.name for source in sources(names, two)]


def test_transcripts_come_along(two: Path) -> None:
    """Those of the trials that count."""
    lost, kept, alone = trial("one", Verdict.FAILED), trial("one"), trial("two")
    for run, trials in (("a", [lost, alone]), ("b", [kept])):
        keep(two, run, trials)
        for each in trials:
            write(two / run / "transcripts", each)

    merged(two, "a", "b")

    found = {path.name: json.loads(path.read_text()) for path in (two / "out" / "transcripts").rglob("*.json")}
    assert {"one.json": "passed", "two.json": "passed"} == {
        name: document["record"]["verdict"] for name, document in found.items()
    }


def test_the_transcript_of_a_trial_that_does_not_count_is_left_out(tmp_path: Path) -> None:
    keep(tmp_path, "a", [trial("one", Verdict.FAILED)])
    write(tmp_path / "a" / "transcripts", trial("one", Verdict.FAILED))
    keep(tmp_path, "b", [trial("one")])

    merged(tmp_path, "a", "b")

    assert not path_of(tmp_path / "out" / "transcripts", trial("one")).exists()


@contextmanager
def failing_at(monkeypatch: pytest.MonkeyPatch, where: object, name: str, error: BaseException) -> Iterator[None]:
    """Have one step of a merge fail."""

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(where, name, fail)
        yield


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize(
    "place",
    [
        pytest.param(lambda: (os, "fsync"), id="journal"),
        pytest.param(lambda: (merging, "_link"), id="transcripts"),
        pytest.param(lambda: (reports, "build"), id="figures"),
        pytest.param(lambda: (reports, "save"), id="report"),
        pytest.param(lambda: (reports, "point"), id="latest"),
    ],
)
def test_interrupted_merge_leaves_no_files(
    two: Path, monkeypatch: pytest.MonkeyPatch, place: Callable[[], tuple[object, str]], error: BaseException
) -> None:
    """The folder is as it was."""
    write(two / "s1" / "transcripts", trial("one"))
    found, before = sources(["s1", "s2"], two), sorted(two.rglob("*"))

    with failing_at(monkeypatch, *place(), error), pytest.raises(type(error)):
        merging.merge(found, two, "out")

    assert before == sorted(two.rglob("*"))
