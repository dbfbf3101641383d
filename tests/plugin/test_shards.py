"""``--crmeval-shard``: one of several machines plays its part, and the parts are merged."""

import json
import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval import cli
from pytest_crmeval.collect.shards import assigned_shards
from tests.projects import case, failing, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
GATE = "crmeval_gates = crm.pass_rate >= 0.60"
MINE = os.environ.get("PYTEST_XDIST_WORKER", "main")  # workers share a server
NO_XDIST = ("-p", "no:xdist")
HALF = ("--crmeval-agent", "bots:Half")


def run(name: str) -> tuple[str, str]:
    """Return a name that no other test uses at the same time."""
    return "--crmeval-run", f"{name}-{MINE}"


def cases(passing: int, wrong: int) -> list[dict[str, Any]]:
    """Return cases of which ``bots:Half`` passes and fails the given numbers."""
    return [case(f"right-{n}") for n in range(passing)] + [failing(f"wrong-{n}") for n in range(wrong)]


def long(case_id: str, turns: int) -> dict[str, Any]:
    """Return a case with this number of turns."""
    turn = case(case_id)["turns"][0]
    return case(case_id, turns=[{**turn, "turn_id": number} for number in range(1, turns + 1)])


def figures(report: dict[str, Any]) -> dict[str, Any]:
    """Return the data that does not depend on time."""

    def timeless(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        kept = [{name: value for name, value in each.items() if name not in {"seconds", "slowest"}} for each in records]
        for record in kept:
            shown = record.get("figures", {})
            record["figures"] = {name: figure for name, figure in shown.items() if not name.startswith("latency")}
        return kept

    trials, results = timeless(report["trials"]), timeless(report["results"])
    return {"complete": report["complete"], "results": results, "trials": trials}


def chosen(pytester: pytest.Pytester, *options: str) -> set[tuple[str, str]]:
    """Return agent and case of the planned trials."""
    result = pytester.runpytest("--collect-only", "-q", *NO_XDIST, *options)
    names = [line.partition("[")[2].rstrip("]") for line in result.outlines if "[" in line]
    return {(agent, case_id) for agent, _, case_id in (name.partition("-") for name in names)}


def test_merged_shards_equal_the_run_without_shards(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Played with and without xdist. The gates are evaluated on the merged run, which can be resumed."""
    pytester = project(cases(4, 2), ini=GATE)
    monkeypatch.chdir(pytester.path)
    agents = (*HALF, "--crmeval-agent", "oracle")
    pytester.runpytest(*run("whole"), *agents, *NO_XDIST)
    whole = report_of(pytester.path)

    first = pytester.runpytest(*run("s1"), *agents, "--crmeval-shard", "1/2", "-n", "1")
    monkeypatch.setenv("CRMEVAL_SHARD", "2/2")
    second = pytester.runpytest(*run("s2"), *agents, "--crmeval-shard", "auto", *NO_XDIST)

    assert [0, 0] == [first.ret, second.ret]
    first.stdout.fnmatch_lines(
        [
            "crmeval cases:  shard 1/2",
            "this is shard 1/2; crmeval merge joins the shards and evaluates the gates",
            "failed cases do not affect the exit status of a shard",
        ]
    )
    shards = [f"s1-{MINE}", f"s2-{MINE}"]
    capsys.readouterr()
    assert 0 == cli.main(["merge", *shards, "-o", f"out-{MINE}", "--gate", "crm.pass_rate >= 0.60"])
    assert 1 == cli.main(["merge", *shards, "-o", f"high-{MINE}", "--gate", "crm.pass_rate >= 0.95"])
    assert 1 == cli.main(["merge", shards[0], "-o", f"half-{MINE}", "--gate", "crm.pass_rate >= 0.0"])
    merged = json.loads(Path(f"reports/out-{MINE}.json").read_text())
    assert figures(whole) == figures(merged)
    transcripts = [len(list(Path(f"reports/{name}-{MINE}/transcripts").rglob("*.json"))) for name in ("whole", "out")]
    assert [12, 12] == transcripts
    again = pytester.runpytest(*run("out"), *agents, *NO_XDIST)
    assert 0 == again.ret
    again.stdout.fnmatch_lines(
        ["crmeval run: * (0 to play, resumed: 12 done)", "gate crm.pass_rate >= 0.60 (half): holds*"]
    )
    refused = pytester.runpytest(*run("half"), *agents, *NO_XDIST)
    assert pytest.ExitCode.USAGE_ERROR == refused.ret
    refused.stderr.fnmatch_lines(["ERROR: crmeval: run * was merged without the shards 2/2; merge them as well, or *"])


def test_merged_run_repeats_errored_trials(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard with an errored trial fails, with and without gates; resuming the merged run corrects it."""
    pytester = project(cases(4, 0), ini=GATE)
    monkeypatch.chdir(pytester.path)
    pytester.makepyfile(
        test_crm="""
        import os, pytest

        @pytest.mark.conversations("cases.jsonl", suite="crm")
        def test_conversation(conversation, evaluate):
            if os.environ.get("BROKEN"):
                raise ConnectionError("no route to model")
            assert evaluate(conversation).passed
        """
    )
    pytester.runpytest(*run("m1"), "--crmeval-shard", "1/2", *NO_XDIST)
    monkeypatch.setenv("BROKEN", "1")
    assert 1 == pytester.runpytest(*run("m2"), "--crmeval-shard", "2/2", *NO_XDIST).ret
    assert 1 == cli.main(["merge", f"m1-{MINE}", f"m2-{MINE}", "-o", f"m-{MINE}"])
    monkeypatch.delenv("BROKEN")

    result = pytester.runpytest(*run("m"), *NO_XDIST)

    assert 0 == result.ret
    result.assert_outcomes(passed=2, deselected=2)
    assert (4, 4) == (report_of(pytester.path)["results"][0]["passed"], len(report_of(pytester.path)["trials"]))


def test_shards_divide_the_selected_cases(project: Project) -> None:
    """They are disjoint and complete; all agents of a case are in the same shard; the sample is drawn first."""
    pytester = project([case(f"case-{number}") for number in range(12)])
    agents = ("--crmeval-agent", "oracle", "--crmeval-agent", "mute")
    asked = (*agents, "--crmeval-sample", "9")
    whole = chosen(pytester, *asked)

    parts = [chosen(pytester, *asked, "--crmeval-shard", f"{index}/3") for index in (1, 2, 3)]

    assert (18, [6, 6, 6]) == (len(whole), [len(part) for part in parts])
    assert whole == parts[0] | parts[1] | parts[2]
    for part in parts:
        assert {case_id for agent, case_id in part if agent == "mute"} == {
            case_id for agent, case_id in part if agent == "oracle"
        }
    other_order = ("--crmeval-agent", "mute", "--crmeval-agent", "oracle", "--crmeval-sample", "9")
    assert parts[1] == chosen(pytester, *other_order, "--crmeval-shard", "2/3")


def test_shards_are_balanced(project: Project) -> None:
    """By turns, or by the durations of an earlier run."""
    pytester = project([long("long", 3), case("a"), case("b"), case("c")])

    by_turns = [{name for _, name in chosen(pytester, "--crmeval-shard", f"{n}/2")} for n in (1, 2)]

    assert [["a", "b", "c"], ["long"]] == sorted(map(sorted, by_turns))
    trials = [
        {"key": name, "suite": "crm", "subject": "oracle", "case": name, "verdict": "passed", "seconds": seconds}
        for name, seconds in {"long": 1.0, "a": 9.0, "b": 4.0, "c": 4.0}.items()
    ]
    Path(pytester.path, "earlier.json").write_text(json.dumps({"trials": trials}))
    asked = ("--crmeval-set=durations=earlier.json",)
    by_seconds = [{name for _, name in chosen(pytester, *asked, "--crmeval-shard", f"{n}/2")} for n in (1, 2)]
    assert [["a"], ["b", "c", "long"]] == sorted(map(sorted, by_seconds))


def test_empty_shard_is_a_part_like_any_other(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It plays nothing, and the merge needs it."""
    pytester = project([case("one")])
    monkeypatch.chdir(pytester.path)
    full = assigned_shards("crm", {"one": 1.0}, 2)["one"]
    pytester.runpytest(*run("full"), "--crmeval-shard", f"{full}/2", *NO_XDIST)

    result = pytester.runpytest(*run("empty"), "--crmeval-shard", f"{3 - full}/2")

    assert pytest.ExitCode.OK == result.ret
    assert 1 == cli.main(["merge", f"full-{MINE}", "-o", f"half-{MINE}"])
    assert 0 == cli.main(["merge", f"full-{MINE}", f"empty-{MINE}", "-o", f"both-{MINE}"])


def test_without_gates_a_failure_fails_the_shard(project: Project) -> None:
    result = project(cases(0, 2)).runpytest(*HALF, "--crmeval-shard", "1/1", *NO_XDIST)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["this is shard 1/1; crmeval merge joins the shards"])


def test_run_is_not_resumed_as_another_shard(project: Project) -> None:
    pytester = project([case(f"case-{number}") for number in range(4)])
    pytester.runpytest(*run("part"), "--crmeval-shard", "1/2", *NO_XDIST)

    other = pytester.runpytest(*run("part"), "--crmeval-shard", "2/2", *NO_XDIST)
    sample = pytester.runpytest(*run("part"), "--crmeval-shard", "1/2", "--crmeval-sample", "3", *NO_XDIST)

    assert [pytest.ExitCode.USAGE_ERROR] * 2 == [other.ret, sample.ret]
    other.stderr.fnmatch_lines(
        ["*was started as shard 1/2, so it can't be resumed as shard 2/2; add --crmeval-shard 1/2, or*"]
    )
    sample.stderr.fnmatch_lines(["*was started as shard 1/2 of other cases of test_crm.py::test_conversation; *"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--crmeval-shard", "5/4"], "--crmeval-shard 5/4: must be I/N, the I-th of N parts, for example 1/4"),
        (
            ["--crmeval-shard", "auto"],
            "--crmeval-shard auto: no shard is assigned here: set CRMEVAL_SHARD to I/N*",
        ),
        (
            ["--crmeval-shard", "1/4", "--crmeval-set=durations=x"],
            "--crmeval-set durations: 'x': * has this id, *",
        ),
        (
            ["--crmeval-shard", "1/4", "-o", "crmeval_durations=latest", "--crmeval-run", "mine"],
            "crmeval_durations = latest: this is the current run; name an earlier one",
        ),
    ],
)
def test_mistakes_have_a_one_line_error(project: Project, options: list[str], why: str) -> None:
    pytester = project()
    reports = pytester.mkdir("reports")
    (reports / "mine.json").write_text("{}")
    (reports / "latest.json").symlink_to("mine.json")

    result = pytester.runpytest(*options, *NO_XDIST)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: {why}"])


def test_unreadable_durations_are_reported(project: Project) -> None:
    pytester = project()
    Path(pytester.path, "odd.json").write_text("[]")

    result = pytester.runpytest("--crmeval-shard", "1/2", "--crmeval-set=durations=odd.json", *NO_XDIST)

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.fnmatch_lines(["--crmeval-set durations: *odd.json: neither a report nor a journal: *"])


def test_worker_on_another_machine_is_refused(project: Project) -> None:
    """One message says what to do instead, and nothing is played."""
    pytester = project()
    pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(trylast=True)
        def pytest_configure_node(node):
            node.workerinput["crmeval"]["machine"] = "elsewhere"
        """
    )

    result = pytester.runpytest("-n", "1")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["this worker runs on another machine (*) than the controller (elsewhere): all workers must run on*"]
    )
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_merge_warns_when_an_agent_was_changed_between_shards(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The module of the agent has changed; each part of a report records its version and code."""
    pytester = project(cases(4, 0))
    monkeypatch.chdir(pytester.path)
    pytester.runpytest_subprocess(*run("a1"), *HALF, "--crmeval-shard", "1/2", "-n", "1")
    with Path("bots.py").open("a", encoding="utf-8") as file:
        file.write("\n# another version\n")
    pytester.runpytest_subprocess(*run("a2"), *HALF, "--crmeval-shard", "2/2", *NO_XDIST)
    capsys.readouterr()

    cli.main(["merge", run("a1")[1], run("a2")[1], "-o", run("changed")[1]])

    said = capsys.readouterr().out
    assert f"warning: the code of the agent half differs between {run('a1')[1]} and {run('a2')[1]}\n" in said
    (part,) = json.loads(Path("reports", f"{run('a2')[1]}.json").read_text(encoding="utf-8"))["run"]["parts"]
    assert (version("pytest-crmeval"), {"half"}) == (part["version"], set(part["code"]))
