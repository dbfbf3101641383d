"""Models as agents: three baselines in one run, and trials that a provider's error ends."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from tests.projects import case, report_of
from tests.providers.answers import Answer, Call, CloseAtOnce, Hang, Say, Status, Tokens
from tests.providers.loopback import Loopback, Seen, crm_brain

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
ONE_AT_A_TIME = ("--crmeval-inflight", "1")
BASELINES = ("--crmeval-agent", "claude", "--crmeval-agent", "gpt-4.1", "--crmeval-agent", "gpt-4.1-mini")
MINI = ("--crmeval-agent", "openai:gpt-4.1-mini?retries=1&timeout=5")


def summaries(path: Path) -> dict[str, dict[str, Any]]:
    """Return the summary of each subject."""
    return {result["subject"]: result for result in report_of(path)["results"]}


def only_for(model: str, answer: Answer) -> Callable[[Seen], Answer]:
    """Return a brain that gives one model a different answer."""
    return lambda seen: answer if seen.model == model else crm_brain(seen)


def test_three_baselines_play_in_one_run(project: Project, providers: Providers) -> None:
    """Each agent and conversation is an item, and -k selects among them."""
    server = providers()
    pytester = project()

    result = pytester.runpytest(*BASELINES, "-p", "no:xdist")

    result.assert_outcomes(passed=9)
    assert {"claude": 3, "gpt-4.1": 3, "gpt-4.1-mini": 3} == {
        name: summary["passed"] for name, summary in summaries(pytester.path).items()
    }
    assert {"claude": {"anthropic:claude-sonnet-5-5": 3}, "gpt-4.1": {"openai:gpt-4.1": 3}} == {
        name: summary["models"] for name, summary in summaries(pytester.path).items() if name != "gpt-4.1-mini"
    }
    models = {seen.model for seen in server.seen}
    assert {"claude-sonnet-5-5", "gpt-4.1", "gpt-4.1-mini"} == models


def test_usage_of_a_trial_is_in_the_report(project: Project, providers: Providers) -> None:
    """Calls and tokens as counted by the server; a custom server has no price unless one is given."""
    providers([Say("No.", usage=Tokens(input=1000, cached=400, output=50, reasoning=7))])
    pytester = project([case("one")])

    pytester.runpytest("--crmeval-agent", "openai:m?price=2/0.5/8", "--crmeval-agent", "openai:n")

    bills = {trial["subject"]: trial["bill"] for trial in report_of(pytester.path)["trials"]}
    usage = {"input": 1000, "cached": 400, "output": 50, "reasoning": 7, "calls": 1, "retries": 0, "cache_written": 0}
    assert usage == bills["openai:m?price=2/0.5/8"]["usage"]
    assert bills["openai:m?price=2/0.5/8"]["cost"] == pytest.approx((600 * 2 + 400 * 0.5 + 50 * 8) / 1e6)
    assert bills["openai:n"]["cost"] is None
    service = {trial["subject"]: trial["service"] for trial in report_of(pytester.path)["trials"]}
    assert {"openai:m?price=2/0.5/8": (1, 0, pytest.approx(400 * 1.5 / 1e6)), "openai:n": (1, 0, None)} == {
        subject: (each["calls"], each["streamed"], each["saved"]) for subject, each in service.items()
    }


@pytest.mark.parametrize(
    ("status", "shown", "xdist"),
    [(401, "*authentication*", ["-n", "1"]), (404, "*unknown model*", ["-p", "no:xdist"])],
)
def test_agent_that_cannot_be_called_is_stopped_at_once(
    project: Project, providers: Providers, xdist: list[str], status: int, shown: str
) -> None:
    """There is one message, the other agents continue, and cases that were not run are neither failed nor forgotten."""
    server = providers(only_for("gpt-4.1", Status(status, "that is wrong")))
    pytester = project([case(f"c{number}") for number in range(8)])

    agents = ("--crmeval-agent", "gpt-4.1", "--crmeval-agent", "gpt-4.1-mini")
    result = pytester.runpytest(*agents, *ONE_AT_A_TIME, *xdist)

    found = summaries(pytester.path)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert 8 == found["gpt-4.1-mini"]["passed"]
    assert 0 < found["gpt-4.1"]["errored"] <= 2
    assert 8 == found["gpt-4.1"]["errored"] + found["gpt-4.1"]["not_run"]
    assert sum(seen.model == "gpt-4.1" for seen in server.seen) <= 2
    result.stdout.fnmatch_lines([f"gpt-4.1 was stopped: {shown}that is wrong*; {found['gpt-4.1']['not_run']} cases*"])


def test_trial_that_cannot_be_finished_is_errored_with_its_cause(project: Project, providers: Providers) -> None:
    """A provider's error is not the model's failure."""
    server = providers([Status(500, "on fire")])
    pytester = project([case("one")])

    result = pytester.runpytest(*MINI)

    (trial,) = report_of(pytester.path)["trials"]
    assert ("errored", 1) == (trial["verdict"], trial["bill"]["usage"]["retries"])
    assert "server error" in trial["reason"]
    assert "on fire" in trial["reason"]
    assert 2 == len(server.seen)
    result.stdout.no_fnmatch_line("*Traceback*")


def test_server_that_never_answers_does_not_hang_the_run(project: Project, providers: Providers) -> None:
    """Each call has a time limit, and only one case calls a model that has never answered."""
    providers([Hang()])
    pytester = project([case("one"), case("two")])

    result = pytester.runpytest("--crmeval-agent", "openai:m?timeout=0.3&retries=1", *ONE_AT_A_TIME)

    (trial,) = report_of(pytester.path)["trials"]
    assert trial["reason"].startswith("unreachable: openai:m: no complete answer")
    assert 1 == trial["bill"]["usage"]["retries"]
    result.stdout.fnmatch_lines(["openai:m* was stopped: unreachable*; 1 case was not run"])


def test_broken_connections_are_reopened(project: Project, providers: Providers) -> None:
    """More often than there are permits: each is returned."""
    lock, broken = Lock(), set[str]()

    def brain(seen: Seen) -> Answer:
        with lock:
            is_first = seen.last_user_text not in broken
            broken.add(seen.last_user_text)
        return CloseAtOnce() if is_first else crm_brain(seen)

    providers(brain)
    cases = [case(f"c{number}") for number in range(20)]
    for number, record in enumerate(cases):
        record["turns"][0]["user_utterance"] = f"Please, {number}: Add Ada Ltd, ada@ada.example, active."

    project(cases).runpytest(*MINI).assert_outcomes(passed=20)


def test_trial_that_succeeds_after_a_retry_passes(project: Project, providers: Providers) -> None:
    stumbles = iter([Status(529, "busy"), Status(429, "slow down", headers={"retry-after": "0"})])
    providers(lambda seen: next(stumbles, None) or crm_brain(seen))
    pytester = project([case("one")])

    result = pytester.runpytest("--crmeval-agent", "claude")

    result.assert_outcomes(passed=1)
    assert 2 == report_of(pytester.path)["trials"][0]["bill"]["usage"]["retries"]


def test_model_that_never_stops_calling_tools_is_cut_off(project: Project, providers: Providers) -> None:
    """Its steps are limited, and the trial fails."""
    from pytest_crmeval import ToolCall

    server = providers([Call(ToolCall(tool="no_such_tool", arguments={}))])
    pytester = project([case("one")], ini="crmeval_max_steps = 7")

    pytester.runpytest(*MINI)

    assert "failed" == report_of(pytester.path)["trials"][0]["verdict"]
    assert 7 == len(server.seen)


def test_invalid_address_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started, and without showing the password in it."""
    monkeypatch.setenv("OPENAI_BASE_URL", "user:hunter22@nonsense")

    result = project().runpytest("--crmeval-agent", "gpt-4.1")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*OPENAI_BASE_URL: nonsense is not an http address*"])
    result.stderr.no_fnmatch_line("*hunter22*")


def test_agent_name_takes_parameters(project: Project, providers: Providers) -> None:
    server = providers()

    project([case("one")]).runpytest("--crmeval-agent", "gpt-4.1?temperature=1")

    assert ("gpt-4.1", 1.0) == (server.seen[0].model, server.seen[0].body["temperature"])


def test_run_without_a_key_is_refused_before_it_starts(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    result = project().runpytest("--crmeval-agent", "gpt-4.1")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*openai:gpt-4.1 needs the environment variable OPENAI_API_KEY*"])


def test_invalid_spec_is_refused_before_the_run_starts(project: Project, providers: Providers) -> None:
    providers()

    result = project().runpytest("--crmeval-agent", "openai:gpt-4.1?temprature=1")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*unknown parameter 'temprature'; known: api, base_url*"])


def test_model_gets_the_prompt_and_nothing_of_the_answer_key(project: Project, providers: Providers) -> None:
    """A request contains the prompt, the tools and the dialogue."""
    server = providers()
    pytester = project([case("one", tags=["canary-tag"], workflow_category="canary-category")])

    pytester.runpytest(*MINI)

    sent = json.dumps([seen.body for seen in server.seen])
    assert "canary" not in sent
    assert "expected" not in sent.lower()
    assert {"temperature": 0.0, "max_tokens": 800} == {
        name: server.seen[0].body[name] for name in ("temperature", "max_tokens")
    }
