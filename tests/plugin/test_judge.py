"""A model gives a second opinion on every trial."""

import shutil
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest

from pytest_crmeval import ToolCall
from tests.projects import case, failing, report_of
from tests.providers.answers import Answer, Call, Say, Status, Tokens
from tests.providers.loopback import Loopback, Seen, crm_brain

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
JUDGED = ("--crmeval-agent", "bots:Half", "--crmeval-judge", "openai:judge?samples=1&price=1000/1000&retries=0")


def graded(goal: int, process: int = 100) -> Answer:
    """Return an opinion."""
    return Call(ToolCall(tool="grade", arguments={"goal": goal, "process": process, "reason": "I think so."}))


def trials_of(pytester: pytest.Pytester) -> dict[str, dict[str, Any]]:
    """Return the trials of the latest run by case."""
    return {trial["case"]: trial for trial in report_of(pytester.path)["trials"]}


def verdicts_of(pytester: pytest.Pytester) -> dict[str, str]:
    """Return the verdicts of the latest run by case."""
    return {name: trial["verdict"] for name, trial in trials_of(pytester).items()}


def test_the_judge_may_find_that_another_way_was_as_good(project: Project, providers: Providers) -> None:
    """What the scorers fail passes if the judge is content, and the report tells who thought what."""
    providers([graded(100)])
    pytester = project([case("right"), failing("wrong")])

    result = pytester.runpytest(*JUDGED)

    result.assert_outcomes(passed=2)
    (summary,) = report_of(pytester.path)["results"]
    assert (1, 1) == (summary["judge"]["both_pass"], summary["judge"]["only_judge"])
    assert summary["judge"]["bill"]["cost"] == pytest.approx(0.24)
    assert "bill" not in trials_of(pytester)["right"]


def test_the_threshold_is_ours(project: Project, providers: Providers) -> None:
    """70 % goal, 30 % process, 0.8 to pass: marks of 71 and 100 are 0.797."""
    providers([graded(71, 100)])
    pytester = project([failing("wrong")])

    pytester.runpytest(*JUDGED)

    assert "failed" == trials_of(pytester)["wrong"]["verdict"]


def test_a_judge_does_not_fail_what_the_scorers_pass(project: Project, providers: Providers) -> None:
    """It is seen in the confusion instead."""
    providers([graded(0, 0)])
    pytester = project([case("right")])

    result = pytester.runpytest(*JUDGED)

    result.assert_outcomes(passed=1)
    assert 1 == report_of(pytester.path)["results"][0]["judge"]["only_scorers"]


def test_errors_of_the_judge_are_not_graded(project: Project, providers: Providers) -> None:
    """Neither passed nor failed: what the scorers fail is errored, and is played again by a resumed run."""
    providers([Status(500, "on fire")])
    pytester = project([case("right"), failing("wrong")])

    result = pytester.runpytest(*JUDGED)

    found = trials_of(pytester)
    assert ("passed", "errored") == (found["right"]["verdict"], found["wrong"]["verdict"])
    assert found["wrong"]["reason"].startswith("not graded: ")
    assert 2 == report_of(pytester.path)["results"][0]["judge"]["not_graded"]
    assert pytest.ExitCode.TESTS_FAILED == result.ret


@pytest.mark.parametrize("answer", [Say("It was fine."), graded(101)], ids=repr)
def test_judge_that_is_unreadable_twice_fails_what_the_scorers_fail(
    project: Project, providers: Providers, answer: Answer
) -> None:
    """An agent that confuses the judge gains nothing; what the scorers pass is not affected."""
    providers([answer])
    pytester = project([case("right"), failing("wrong")])

    result = pytester.runpytest(*JUDGED)

    assert {"right": "passed", "wrong": "failed"} == verdicts_of(pytester)
    assert 0 == report_of(pytester.path)["results"][0]["judge"]["not_graded"]
    result.stdout.fnmatch_lines(["note: *the judge's grade was unreadable twice and counts as a failing one*"])


@WAYS
def test_a_judge_that_cannot_be_asked_stops_the_run(project: Project, providers: Providers, xdist: list[str]) -> None:
    """One message instead of 1,200."""
    server = providers([Status(401, "who are you?")])
    pytester = project([failing(f"c{number}") for number in range(9)])

    result = pytester.runpytest(*JUDGED, *xdist)

    (summary,) = report_of(pytester.path)["results"]
    assert len(server.seen) <= 2
    assert 9 == summary["errored"] + summary["not_run"]
    assert summary["not_run"] >= 7
    result.stdout.fnmatch_lines(["the run was stopped: authentication*who are you*"])


def test_the_judge_sees_the_case_and_the_agent_does_not(project: Project, providers: Providers) -> None:
    """They ask the same server here."""
    server = providers(lambda seen: graded(100) if seen.model == "judge" else crm_brain(seen))
    pytester = project([case("one", tags=["x"])])

    pytester.runpytest("--crmeval-agent", "openai:agent", "--crmeval-judge", "openai:judge?samples=1")

    asked: dict[str, list[Seen]] = {"agent": [], "judge": []}
    for seen in server.seen:
        asked[seen.model].append(seen)
    assert all("grade" not in seen.tools for seen in asked["agent"])
    assert all("reference" not in str(seen.body["messages"]) for seen in asked["agent"])
    assert [["grade"]] == [list(seen.tools) for seen in asked["judge"]]
    assert "create_new_client" in asked["judge"][0].last_user_text


def test_the_same_trial_is_judged_once(project: Project, providers: Providers) -> None:
    """A second run finds the opinion of the first; it costs nothing."""
    server = providers([graded(100)])
    pytester = project([failing("wrong")])
    pytester.runpytest(*JUDGED)

    pytester.runpytest(*JUDGED)

    assert 1 == len(server.seen)
    judge = report_of(pytester.path)["results"][0]["judge"]
    assert 1 == judge["cached"]
    assert "bill" not in judge


def test_transcripts_are_replayed_with_judgements_from_the_cache(project: Project, providers: Providers) -> None:
    """Nobody was asked for them in that run; they are told in its transcripts all the same."""
    server = providers(lambda seen: graded(100) if seen.model == "judge" else Say("I won't."))
    pytester = project([case("one")])
    models = ("--crmeval-agent", "openai:agent", "--crmeval-judge", "openai:judge?samples=1")
    pytester.runpytest(*models)
    pytester.runpytest(*models, "--crmeval-run", "second")
    server.seen.clear()
    shutil.rmtree(pytester.path / "reports/judgements")

    result = pytester.runpytest(*models, "--crmeval-replay", "reports/second/transcripts")

    result.assert_outcomes(passed=1)
    assert [] == server.seen
    assert 1 == report_of(pytester.path)["results"][0]["judge"]["cached"]


def test_a_judgement_from_the_cache_is_not_replayed_for_another_judge(project: Project, providers: Providers) -> None:
    """Who was asked is part of what was judged."""
    providers([graded(100)])
    pytester = project([failing("wrong")])
    pytester.runpytest(*JUDGED)
    pytester.runpytest(*JUDGED, "--crmeval-run", "second")
    other = ("--crmeval-agent", "bots:Half", "--crmeval-judge", "openai:another?samples=1")

    pytester.runpytest(*other, "--crmeval-replay", "reports/second/transcripts")

    trial = trials_of(pytester)["wrong"]
    assert "errored" == trial["verdict"]
    assert "came from the cache, and answers another request" in trial["reason"]


def test_a_replay_gives_each_case_the_verdict_that_was_recorded(project: Project, providers: Providers) -> None:
    """Also where a judge thought differently about cases of the same content."""
    opinions = cycle([graded(100), graded(0)])
    providers(lambda _: next(opinions))
    pytester = project([failing(f"c{number}") for number in range(4)])
    pytester.runpytest(*JUDGED, "--crmeval-record", "tapes")
    recorded = verdicts_of(pytester)

    pytester.runpytest(*JUDGED, "--crmeval-replay", "tapes")

    assert ["passed", "failed"] * 2 == list(recorded.values())
    assert recorded == verdicts_of(pytester)


def test_a_replay_asks_neither_judge_nor_cache(project: Project, providers: Providers) -> None:
    """A merge is gated by the same verdict on every machine, whatever was judged there before."""
    pytester = project([failing("wrong")])
    providers([graded(0)])
    pytester.runpytest(*JUDGED, "--crmeval-record", "tapes")
    providers([graded(100)])
    pytester.runpytest(*JUDGED)
    kept = verdicts_of(pytester)

    pytester.runpytest(*JUDGED, "--crmeval-replay", "tapes")

    assert ({"wrong": "passed"}, {"wrong": "failed"}) == (kept, verdicts_of(pytester))


def test_what_was_replayed_is_not_kept_for_live_runs(project: Project, providers: Providers) -> None:
    """They ask the judge."""
    pytester = project([failing("wrong")])
    providers([graded(0)])
    pytester.runpytest(*JUDGED, "--crmeval-record", "tapes")
    pytester.runpytest(*JUDGED, "--crmeval-replay", "tapes")
    server = providers([graded(100)])

    pytester.runpytest(*JUDGED)

    assert 1 == len(server.seen)
    assert {"wrong": "passed"} == verdicts_of(pytester)


def test_a_budget_is_not_kept_with_a_judge_that_counts_nothing(project: Project, providers: Providers) -> None:
    """So nothing more is begun."""
    uncounted = Call(
        ToolCall(tool="grade", arguments={"goal": 100, "process": 100, "reason": "Fine."}), usage=Tokens(0, 0, 0, 0)
    )
    providers([uncounted])
    pytester = project([failing("one"), case("two"), case("three")])

    result = pytester.runpytest(*JUDGED, "--crmeval-budget", "5")

    assert 2 == report_of(pytester.path)["results"][0]["not_run"]
    result.stdout.fnmatch_lines(["the run was stopped: its cost is unknown*"])


def test_a_recorded_judge_is_replayed(project: Project, providers: Providers) -> None:
    """Its exchanges are on a cassette of their own."""
    server = providers(lambda seen: graded(100) if seen.model == "judge" else crm_brain(seen))
    pytester = project([case("one")])
    models = ("--crmeval-agent", "openai:agent", "--crmeval-judge", "openai:judge?samples=3")
    pytester.runpytest(*models, "--crmeval-record", "tapes")
    server.seen.clear()

    result = pytester.runpytest(*models, "--crmeval-replay", "tapes")

    result.assert_outcomes(passed=1)
    assert [] == server.seen
    assert 1 == report_of(pytester.path)["results"][0]["judge"]["graded"]


def test_a_run_is_not_resumed_with_another_judge(project: Project, providers: Providers) -> None:
    """Two kinds of verdict don't add up."""
    providers([graded(100)])
    pytester = project()
    pytester.runpytest(*JUDGED, "--crmeval-run", "mine", "-k", "one")

    result = pytester.runpytest("--crmeval-agent", "bots:Half", "--crmeval-run", "mine")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*begun with the judge openai:judge*can't go on without a judge*"])


@pytest.mark.parametrize("spec", ["oracle", "openai:j?samples=0", "openai:", "openai:j?tempo=1"])
def test_what_is_no_judge_is_refused(project: Project, spec: str) -> None:
    """Before anything is started."""
    result = project().runpytest("--crmeval-judge", spec)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
