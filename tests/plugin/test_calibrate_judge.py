"""`crmeval calibrate --judge` asks a model about the labelled statements, once."""

import json
import sysconfig
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.judges import always, as_labelled, checking
from tests.projects import case, report_of
from tests.providers.answers import Status
from tests.providers.loopback import Loopback

Providers = Callable[..., Loopback]
NO_SERVER = pytest.mark.usefixtures("no_server")
JUDGE = "openai:judge?samples=1&price=1000/1000&retries=0"


def calibrated(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run the command."""
    command = Path(sysconfig.get_path("scripts"), "crmeval")
    return pytester.run(command, "calibrate", "--judge", JUDGE, *arguments)


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make PostgreSQL unreachable: the judge is measured without a CRM."""
    monkeypatch.setenv("CRMEVAL_DSN", "host=127.0.0.1 port=1 connect_timeout=1")


@NO_SERVER
def test_judge_is_measured_once_and_announces_its_calls(pytester: pytest.Pytester, providers: Providers) -> None:
    """The second time all answers are cached."""
    server = providers(checking(as_labelled))

    first, second = calibrated(pytester), calibrated(pytester)

    assert (0, 0, 54) == (first.ret, second.ret, len(server.seen))
    first.stderr.fnmatch_lines(["asking openai:judge* about labelled statements: 54 calls, about * tokens in, cost $*"])
    first.stdout.fnmatch_lines(
        [
            "judge openai:judge*: kappa 1.00 on 152 labelled statements (76 of 76 false ones found, 0 of 76 true *",
            "it is allowed to fail a `reply` that the rules pass",
        ]
    )
    second.stderr.fnmatch_lines(["*0 calls, all answers are cached"])
    assert first.outlines == second.outlines


@NO_SERVER
def test_judge_that_calls_everything_false_may_not_decide(pytester: pytest.Pytester, providers: Providers) -> None:
    """Its kappa is 0, whatever it finds."""
    providers(always("false"))

    text, document = calibrated(pytester), calibrated(pytester, "--format", "json")

    text.stdout.fnmatch_lines(["its opinions are only reported: *kappa 0.00 is below 0.8"])
    expected = {"found": 76, "missed": 0, "accepted": 0, "refused": 76, "kappa": 0.0}
    assert {"judge": expected} == json.loads(document.stdout.str())


@NO_SERVER
def test_answers_before_an_error_are_kept(pytester: pytest.Pytester, providers: Providers) -> None:
    numbers = count(1)
    willing = checking(as_labelled)
    providers(lambda seen: willing(seen) if next(numbers) not in range(20, 25) else Status(500, "too tired"))
    failed = calibrated(pytester)
    server = providers(checking(as_labelled))

    again = calibrated(pytester)

    assert (2, 0, 5) == (failed.ret, again.ret, len(server.seen))
    failed.stderr.fnmatch_lines(["*5 of 54 requests were not answered; the answers so far are kept*too tired*"])


@pytest.mark.parametrize("spec", ["oracle", "openai:j?samples=0", "openai:j?tempo=1"])
def test_invalid_judge_is_refused(pytester: pytest.Pytester, spec: str) -> None:
    command = Path(sysconfig.get_path("scripts"), "crmeval")
    result = pytester.run(command, "calibrate", "--judge", spec)

    assert 2 == result.ret
    result.stderr.fnmatch_lines(["*--judge*"])


@pytest.mark.usefixtures("given_server")
def test_measured_judge_decides_in_the_next_run(project: Callable[..., pytest.Pytester], providers: Providers) -> None:
    """The run finds the answers in the reports folder of the project."""
    pytester = project([case("one")])
    providers(checking(as_labelled))
    calibrated(pytester)
    providers(always("false"))

    pytester.runpytest("--crmeval-agent", "bots:Chatty", "--crmeval-judge", JUDGE)

    assert "failed" == report_of(pytester.path)["trials"][0]["verdict"]
