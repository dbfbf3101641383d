"""Conversations in flight when a run is interrupted: real processes, real signals, and nothing is paid for twice."""

import os
import re
import signal
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from threading import Event

import pytest

from tests.plugin.test_inflight import M, asked, many
from tests.postgres.processes import SECONDS, Run, eventually, running
from tests.projects import report_of
from tests.providers.answers import Answer, Hang, Say
from tests.providers.loopback import Loopback, Seen, crm_brain

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
Signalled = Callable[[Run, signal.Signals], None]
RUN = (*M, "--crmeval-inflight", "4")
PATIENT = """
import execnet.gateway_base
from pytest_crmeval.controller import in_flight
from xdist.workermanage import NodeManager

in_flight.GRACE = NodeManager.EXIT_TIMEOUT = 3600.0
execnet.gateway_base.WorkerGateway._terminate_execution = lambda self: None
"""
"""A conftest that makes the plugin, xdist and execnet wait an hour for a busy worker."""


def named(folder: Path) -> tuple[str, ...]:
    """Return options that name the run after its folder, because other tests use the same server at the same time."""
    return ("--crmeval-run", f"r-{sha256(str(folder).encode()).hexdigest()[:12]}")


def to_the_group(run: Run, number: signal.Signals) -> None:
    """Send the signal to all processes of the run, as a terminal does for Ctrl-C."""
    os.killpg(run.process.pid, number)


def to_the_controller(run: Run, number: signal.Signals) -> None:
    """Send the signal only to the process that owns the run."""
    os.kill(run.process.pid, number)


class Holding:
    """A brain that answers the first cases at once, and the others when it is released."""

    def __init__(self, first: int, brain: Callable[[Seen], Answer] = crm_brain) -> None:
        self._first, self._brain = first, brain
        self._gone = Event()

    def __call__(self, seen: Seen) -> Answer:
        """Wait, except for the first cases."""
        found = re.search(r"Add c(\d+) Ltd", seen.last_user_text)
        if found and int(found[1]) >= self._first:
            self._gone.wait(SECONDS)
        return self._brain(seen)

    def let_go(self) -> None:
        """Answer all requests from now on at once."""
        self._gone.set()


def journalled(folder: Path) -> int:
    """Count the recorded trials."""
    journal = folder / "reports" / named(folder)[1] / "trials.jsonl"
    return journal.read_text(encoding="utf-8").count('{"trial"') if journal.exists() else 0


@pytest.mark.parametrize(
    ("xdist", "send", "number"),
    [
        pytest.param(["-n", "2"], to_the_group, signal.SIGINT, id="Ctrl-C"),
        pytest.param(["-p", "no:xdist"], to_the_group, signal.SIGHUP, id="SIGHUP without xdist"),
    ],
)
def test_cases_in_flight_are_finished_and_kept(
    project: Project, providers: Providers, xdist: list[str], send: Signalled, number: signal.Signals
) -> None:
    """A resumed run plays only cases that never started: each case makes two calls in total."""
    brain = Holding(8)
    server = providers(brain)
    folder = project(many(30)).path

    with running(folder, *RUN, *named(folder), *xdist, forked=True) as run:
        eventually(lambda: journalled(folder) > 3, "trials are on record")
        eventually(lambda: len(set(asked(server))) > 8, "others are in flight")
        send(run, number)
        eventually(lambda: "again to abandon" in run.output(), "the signal has arrived")
        brain.let_go()
        status = run.end()
    before = journalled(folder)

    assert pytest.ExitCode.INTERRUPTED == status
    assert 8 < before < 30
    assert before == len(report_of(folder)["trials"])
    assert Counter(asked(server)) == dict.fromkeys(set(asked(server)), 2)
    assert 2 * before == len(server.seen)
    with running(folder, *RUN, *named(folder), *xdist, forked=True) as run:
        assert pytest.ExitCode.OK == run.end(), run.output()
    assert 60 == len(server.seen)
    report = report_of(folder)
    assert 30 == len(report["trials"])
    assert 60 == report["results"][0]["bill"]["usage"]["calls"]
    assert report["results"][0]["seconds"] == pytest.approx(sum(trial["seconds"] for trial in report["trials"]))


@pytest.mark.parametrize(
    ("xdist", "players", "send"),
    [
        (["-n", "2"], 2, to_the_controller),
        (["-p", "no:xdist", "-q", "-s"], 1, to_the_group),
    ],
)
def test_ctrl_c_with_one_case_in_flight_finishes_it_and_counts_its_calls(
    project: Project, providers: Providers, xdist: list[str], players: int, send: Signalled
) -> None:
    """A case that is played in its own test is finished like one that is played ahead."""
    brain = Holding(2)
    server = providers(brain)
    folder = project(many(12)).path
    options = (*M, "--crmeval-inflight", "1", *named(folder), *xdist)

    with running(folder, *options, forked=True) as run:
        eventually(lambda: len(set(asked(server)) - {"c00", "c01"}) == players, "each player waits for an answer")
        begun = set(asked(server))
        send(run, signal.SIGINT)
        eventually(lambda: "again to abandon" in run.output(), "the signal has arrived")
        brain.let_go()
        status = run.end()

    report = report_of(folder)
    assert pytest.ExitCode.INTERRUPTED == status
    assert begun == {trial["case"] for trial in report["trials"]}
    assert len(server.seen) == report["results"][0]["bill"]["usage"]["calls"]


def test_ctrl_c_without_workers_is_not_lost_when_the_case_in_progress_fails(
    project: Project, providers: Providers
) -> None:
    """The run ends after it, although its test raises."""
    brain = Holding(1, lambda _: Say("No."))
    server = providers(brain)
    folder = project(many(6)).path

    with running(folder, *M, "--crmeval-inflight", "1", *named(folder), "-p", "no:xdist", forked=True) as run:
        eventually(lambda: "c01" in asked(server), "a case waits for an answer")
        to_the_controller(run, signal.SIGINT)
        eventually(lambda: "again to abandon" in run.output(), "the signal has arrived")
        brain.let_go()
        status = run.end()

    assert pytest.ExitCode.INTERRUPTED == status
    assert {"c00": "failed", "c01": "failed"} == {
        trial["case"]: trial["verdict"] for trial in report_of(folder)["trials"]
    }


@pytest.mark.parametrize(
    ("options", "send", "number"),
    [
        pytest.param("4 -n 1", to_the_group, signal.SIGTERM, id="SIGTERM to all"),
        pytest.param("1 -p no:xdist", to_the_group, signal.SIGINT, id="Ctrl-C without xdist, one in flight"),
    ],
)
def test_second_interrupt_ends_the_run_at_once(
    project: Project, providers: Providers, options: str, send: Signalled, number: signal.Signals
) -> None:
    """Nothing waits for a server that never answers."""
    server = providers([Hang()])
    pytester = project(many(6))
    pytester.makeconftest(PATIENT)
    folder = pytester.path

    with running(folder, *M, *named(folder), "--crmeval-inflight", *options.split(), forked=True) as run:
        eventually(lambda: len(server.seen) >= int(options[0]), "calls are in flight")
        send(run, number)
        eventually(lambda: "at most 3600 s; press Ctrl-C again" in run.output(), "the run says that it waits")
        send(run, number)

        assert pytest.ExitCode.INTERRUPTED == run.end()


@pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=["worker", "one process"])
def test_calls_abandoned_by_a_second_interrupt_are_counted_as_spent(
    project: Project, providers: Providers, xdist: list[str]
) -> None:
    """The provider may bill them: summary and report include their expected cost, as an estimate."""
    server = providers(lambda seen: Hang() if re.search("Add c0[2-9]", seen.last_user_text) else crm_brain(seen))
    pytester = project(many(6))
    pytester.makeconftest(PATIENT)
    folder = pytester.path
    priced = ("--crmeval-agent", "openai:m?price=1000/1000", *named(folder), "--crmeval-inflight", "4")

    with running(folder, *priced, *xdist, forked=True) as run:
        eventually(lambda: journalled(folder) == 2 and len(server.seen) == 2 * 2 + 4, "four calls are in flight")
        to_the_group(run, signal.SIGINT)
        eventually(lambda: "at most 3600 s; press Ctrl-C again" in run.output(), "the run says that it waits")
        to_the_group(run, signal.SIGINT)
        run.end()

    assert pytest.approx(len(server.seen) * 0.12) == report_of(folder)["run"]["spent"]
    assert "spent by this run: $0.96" in run.output()
    assert "$0.48 of the cost is an estimate" in run.output()


def test_killed_worker_loses_only_what_it_was_playing(project: Project, providers: Providers) -> None:
    """Its finished cases are recorded and not repeated; the rest is played again."""
    brain = Holding(20)
    server = providers(brain)
    folder = project(many(40)).path

    with running(folder, *RUN, *named(folder), "-n", "2", forked=True) as run:
        eventually(lambda: journalled(folder) > 8, "trials are on record")
        os.kill(run.workers()[0], signal.SIGKILL)
        brain.let_go()
        status = run.end()

    trials = {trial["case"]: trial["verdict"] for trial in report_of(folder)["trials"]}
    again = [name for name, count in Counter(asked(server)).items() if count > 2]
    assert pytest.ExitCode.TESTS_FAILED == status  # a crash
    assert {f"c{number:02d}": "passed" for number in range(40)} == trials
    assert len(again) <= 5
