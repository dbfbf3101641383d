"""A budget is kept: no trial starts, and no call is made, that it does not cover."""

from collections.abc import Callable

import pytest

from tests.projects import case, report_of
from tests.providers.answers import Malformed, Say, Slow, Tokens
from tests.providers.loopback import Loopback

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
DEAR = ("--crmeval-agent", "openai:m?price=1000/1000", "--crmeval-inflight", "1")
"""A trial makes two calls of 120 tokens each: 0.24 dollars. One case at a time."""


def test_run_stops_when_the_budget_does_not_cover_another_trial(project: Project, providers: Providers) -> None:
    """A started trial is finished; the exit status shows that the run is incomplete, and a line says why."""
    server = providers()
    pytester = project([case(f"c{number}") for number in range(10)])

    result = pytester.runpytest(*DEAR, "--crmeval-budget", "0.70", "-p", "no:xdist")

    report = report_of(pytester.path)
    (summary,) = report["results"]
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert (2, 8) == (summary["passed"], summary["not_run"])
    assert report["run"]["spent"] == pytest.approx(0.48)
    assert 4 == len(server.seen)
    result.stdout.fnmatch_lines(
        ["*the budget of $0.70 does not cover another trial: $0.48 is spent, and a trial costs about $0.24; 8 cases*"]
    )


@pytest.mark.parametrize("xdist", [["-n", "2"], ["-p", "no:xdist"]], ids=" ".join)
def test_budget_is_not_exceeded_by_calls_in_flight(project: Project, providers: Providers, xdist: list[str]) -> None:
    """Without reservations, 24 simultaneous calls of 0.048 dollars cost 1.15 dollars."""
    providers(lambda _: Slow(0.2, Say("No.", usage=Tokens(input=40, output=8))))
    pytester = project([case(f"c{number:02d}") for number in range(24)])
    many = ("--crmeval-agent", DEAR[1], "--crmeval-inflight", "12" if "-n" in xdist else "24")

    result = pytester.runpytest(*many, "--crmeval-budget", "0.05", *xdist)

    report = report_of(pytester.path)
    assert report["run"]["spent"] == pytest.approx(0.048)
    assert 23 == report["results"][0]["not_run"]
    result.stdout.fnmatch_lines(["the run was stopped: the budget of $0.05 does not cover another trial: *"])


def test_budget_that_is_used_up_during_a_trial_stops_the_trial(project: Project, providers: Providers) -> None:
    """Its cost was unknown; the trial is errored, and a resumed run with a larger budget repeats it."""
    server = providers()
    pytester = project([case("one"), case("two")])
    run = (*DEAR, "--crmeval-run", "short", "-p", "no:xdist")

    pytester.runpytest(*run, "--crmeval-budget", "0.20")
    first = report_of(pytester.path)
    result = pytester.runpytest(*run, "--crmeval-budget", "5")

    assert [("one", "errored")] == [(trial["case"], trial["verdict"]) for trial in first["trials"]]
    assert first["trials"][0]["reason"].startswith(
        "given up: openai:m: the budget of $0.20 does not cover another call"
    )
    assert 1 + 4 == len(server.seen)
    assert pytest.ExitCode.OK == result.ret


@pytest.mark.parametrize(
    "usage", ['{"prompt_tokens": "100", "completion_tokens": "20"}', '"lots"', '{"prompt_tokens": []}']
)
def test_usage_of_the_wrong_type_keeps_the_answer_and_counts_for_the_budget(
    project: Project, providers: Providers, usage: str
) -> None:
    """Numbers sent as text are counted; without numbers the reserved amount counts."""
    message = '{"role": "assistant", "content": "No."}'
    body = f'{{"choices": [{{"message": {message}, "finish_reason": "stop"}}], "usage": {usage}}}'
    server = providers([Malformed(body.encode())])
    pytester = project([case("one"), case("two")])

    pytester.runpytest(*DEAR, "--crmeval-budget", "0.12", "-p", "no:xdist")

    report = report_of(pytester.path)
    assert 1 == len(server.seen)
    assert 1 == report["results"][0]["failed"]
    assert report["run"]["spent"] >= 0.12


def test_resumed_run_continues_to_count(project: Project, providers: Providers) -> None:
    """The budget covers all parts of the run; a larger one plays the rest."""
    providers()
    pytester = project([case(f"c{number}") for number in range(5)])
    run = (*DEAR, "--crmeval-run", "saving")
    pytester.runpytest(*run, "--crmeval-budget", "0.40")

    broke = pytester.runpytest(*run, "--crmeval-budget", "0.40")
    rich = pytester.runpytest(*run, "--crmeval-budget", "9")

    assert pytest.ExitCode.TESTS_FAILED == broke.ret
    broke.assert_outcomes(skipped=4)
    assert pytest.ExitCode.OK == rich.ret
    assert report_of(pytester.path)["run"]["spent"] == pytest.approx(5 * 0.24)


def test_budget_that_is_not_reached_changes_nothing(project: Project, providers: Providers) -> None:
    providers()

    result = project().runpytest(*DEAR, "--crmeval-budget", "$5")

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(["crmeval budget: $5.00"])


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        ("openai:* 600rpm 90000tpm", "openai:[*] 600rpm 90000tpm"),
        ("openai:n 1rpm", "no limit in crmeval_rates applies to *"),
    ],
)
def test_header_shows_the_rate_limits_that_apply(project: Project, providers: Providers, rate: str, shown: str) -> None:
    """A limit for a misspelt model would have no effect."""
    providers()

    result = project([case("one")], ini=f"crmeval_rates = {rate}").runpytest(*DEAR)

    result.stdout.fnmatch_lines([f"crmeval rates:  {shown}"])


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf", "five", ""])
def test_invalid_budget_is_refused(project: Project, budget: str) -> None:
    result = project().runpytest("--crmeval-budget", budget)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--crmeval-budget*must be a positive amount in US dollars*"])


def test_budget_for_a_model_without_a_price_is_refused(project: Project, providers: Providers) -> None:
    """It could not be enforced."""
    server = providers()

    result = project().runpytest("--crmeval-agent", "openai:mystery", "--crmeval-budget", "5")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*the price of openai:mystery is unknown*price=INPUT/OUTPUT*"])
    assert [] == server.seen


def test_agent_without_a_model_ignores_the_budget(project: Project) -> None:
    """The oracle costs nothing."""
    result = project().runpytest("--crmeval-budget", "0.01")

    result.assert_outcomes(passed=3)


DYING = """
import os

from pytest_crmeval.agents.chat import ChatAgent


class Dying(ChatAgent):
    '''Asks once, and takes its process with it.'''

    def reply(self, messages, tools):
        super().reply(messages, tools)
        os._exit(1)
"""


def test_cost_of_a_crashed_worker_is_counted(project: Project, providers: Providers) -> None:
    """The case is played and paid for twice; the journal has both costs, and a resumed run adds to them."""
    providers()
    pytester = project([case("one")])
    pytester.makeconftest(
        DYING
        + """

import pytest


@pytest.fixture
def agent(agent):
    return Dying(name=agent.name, model=agent.model)
"""
    )

    pytester.runpytest(*DEAR, "--crmeval-run", "dying", "-n", "1")

    assert report_of(pytester.path)["run"]["spent"] == pytest.approx(0.24)
    pytester.runpytest(*DEAR, "--crmeval-run", "dying", "-n", "1")
    assert report_of(pytester.path)["run"]["spent"] == pytest.approx(0.48)
