"""Whatever ends a run, nothing of its server is left: real processes, real signals."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.postgres.processes import eventually, running
from tests.projects import case, failing, report_of

Project = Callable[..., pytest.Pytester]
XDIST = pytest.mark.parametrize("xdist", [["-n", "2"], ["-p", "no:xdist"]], ids=" ".join)

SLOW = """
import time
from bots import Half

class Slow(Half):
    def reply(self, messages, tools):
        time.sleep(0.1)
        return super().reply(messages, tools)
"""


@pytest.fixture
def slow(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a project with many slow cases."""
    monkeypatch.delenv("CRMEVAL_DSN", raising=False)
    pytester = project([case(f"case-{number}") for number in range(30)])
    pytester.makepyfile(slow=SLOW)
    return pytester.path


@XDIST
def test_after_a_normal_end(project: Project, xdist: list[str]) -> None:
    """Also with failing tests."""
    pytester = project([case("one"), failing("two")])
    pytester.makepyfile(slow=SLOW)

    with running(pytester.path, *xdist, "--crmeval-agent", "slow:Slow") as run:
        eventually(lambda: run.journalled() > 0, "a trial is in the journal")
        run.look_at_server()

        assert pytest.ExitCode.TESTS_FAILED == run.end()
    run.nothing_left()


@XDIST
def test_after_ctrl_c(slow: Path, xdist: list[str]) -> None:
    """Once: the run stops, what is finished is in journal and report, the rest is counted as not run."""
    with running(slow, *xdist, "--crmeval-agent", "slow:Slow") as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        run.look_at_server()
        run.interrupt()

        assert pytest.ExitCode.INTERRUPTED == run.end(), run.output()
    run.nothing_left()
    report = report_of(slow)
    (standing,) = report["results"]
    assert run.journalled() == standing["passed"] == len(report["trials"])
    assert 30 == standing["planned"]
    assert not report["complete"]


@XDIST
def test_after_ctrl_c_twice(slow: Path, xdist: list[str]) -> None:
    """At once."""
    with running(slow, *xdist, "--crmeval-agent", "slow:Slow") as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        run.look_at_server()
        run.interrupt()
        run.interrupt()

        assert run.end() != pytest.ExitCode.OK
    run.nothing_left()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
@XDIST
def test_after_the_controller_was_killed(slow: Path, xdist: list[str], number: signal.Signals) -> None:
    """The server ends by itself, and the journal can be resumed."""
    arguments = ("--crmeval-agent", "slow:Slow", "--crmeval-run", "the-killed", *xdist)
    with running(slow, *arguments) as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        run.look_at_server()
        run.process.send_signal(number)

        assert -number == run.end()
        run.nothing_left()
    before = run.journalled()

    with running(slow, *arguments) as again:
        assert pytest.ExitCode.OK == again.end(), again.output()
    assert 30 == again.journalled()
    assert f"resumed: {before} done" in again.output()
    assert 30 == report_of(slow)["results"][0]["passed"]


def test_after_a_worker_was_killed(slow: Path) -> None:
    """The run goes on with a replacement; the case that it was playing is errored, and no other."""
    with running(slow, "-n", "2", "--crmeval-agent", "slow:Slow") as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        run.look_at_server()
        os.kill(run.workers()[0], signal.SIGKILL)

        assert pytest.ExitCode.TESTS_FAILED == run.end(), run.output()
    run.nothing_left()
    report = report_of(slow)
    (standing,) = report["results"]
    assert (29, 1, 0) == (standing["passed"], standing["errored"], standing["not_run"])
    assert ["worker 'gw"] == [trial["reason"][:10] for trial in report["trials"] if trial["verdict"] == "errored"]


def test_on_a_given_server(slow: Path, server: str) -> None:
    """A run drops its databases, those of a crashed worker included."""
    arguments = ("-n", "2", "--crmeval-agent", "slow:Slow", "--crmeval-run", "given-crash")
    with running(slow, *arguments, environment={"CRMEVAL_DSN": server}) as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        assert {"crmeval_given-crash_template", "crmeval_given-crash_gw0", "crmeval_given-crash_gw1"} == databases(
            server, "given-crash"
        )
        os.kill(run.workers()[0], signal.SIGKILL)

        assert pytest.ExitCode.TESTS_FAILED == run.end(), run.output()
    assert set() == databases(server, "given-crash")


def test_leftovers_on_a_given_server_are_swept_by_the_next_run(slow: Path, server: str) -> None:
    """A killed controller can't drop its databases; the next run does, and leaves those of the living alone."""
    given = {"CRMEVAL_DSN": server}
    agent = ("--crmeval-agent", "slow:Slow", "-n", "2")
    with running(slow, *agent, "--crmeval-run", "given-dead", environment=given) as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        run.process.kill()
        run.end()
    assert databases(server, "given-dead")

    with running(slow, *agent, "--crmeval-run", "given-living", environment=given) as living:
        eventually(lambda: living.journalled() > 0, "a trial is in the journal")
        eventually(lambda: not databases(server, "given-dead"), "leftovers are swept")
        with running(slow, "--crmeval-run", "given-third", environment=given) as third:
            assert pytest.ExitCode.OK == third.end(), third.output()
        assert databases(server, "given-living")

        assert pytest.ExitCode.OK == living.end(), living.output()
    assert set() == databases(server, "given-living")


def databases(server: str, run: str) -> set[str]:
    """Return the databases of a run."""
    with psycopg.connect(server) as connection:
        rows = connection.execute(
            "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [f"crmeval_{run}_"]
        ).fetchall()
    return {name for (name,) in rows}
