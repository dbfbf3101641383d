"""A learner's conversations are played one after the other, however pytest and xdist distribute them."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests.atlas_models import RULE, answer_by_role, roles_in, shown, stream
from tests.forkserver import ForkedProcess, start
from tests.plugin.test_atlas import ATLAS, A, B, trials_of
from tests.postgres.processes import eventually, workers_of
from tests.projects import report_of
from tests.providers.answers import Answer, Say, Status
from tests.providers.loopback import Loopback, Seen

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
SOON = 300.0
"""On a busy machine, a replacement worker takes a while."""
IN_ORDER = [f"c{number:02d}" for number in range(6)]
OWN_FIXTURE = """
import pytest

@pytest.fixture(autouse=True)
def mine():
    yield
"""


def learned(server: Loopback) -> list[str]:
    """Return the firms of the conversations that were learned from, in order."""
    taught = [seen for seen, role in zip(server.seen, roles_in(server.seen), strict=True) if role == "learner"]
    return [found[1] for seen in taught if (found := re.search(r"Firm(\d+) Ltd", shown(seen)))]


def test_order_can_be_random(project: Project, providers: Providers) -> None:
    """The order depends on the seed only."""
    providers(answer_by_role)
    path, spec = project(stream(6)), f"{ATLAS}&order=seed:7"
    first, again = (
        path.runpytest("--crmeval-agent", spec, "-p", "no:xdist", "--collect-only", "-q").stdout.str() for _ in "12"
    )
    dealt = re.findall(r"-(c\d\d)]", first)

    assert IN_ORDER == sorted(dealt)
    assert IN_ORDER != dealt
    assert dealt == re.findall(r"-(c\d\d)]", again)


@pytest.mark.parametrize("xdist", [["-n", "2"], ["-p", "no:xdist"]], ids=" ".join)
def test_learner_is_refused_if_a_fixture_must_play_its_conversations(
    project: Project, providers: Providers, xdist: list[str]
) -> None:
    """Only the queue assigns a learner's conversations; the message names the fixture."""
    server = providers(answer_by_role)
    path = project(stream(6))
    path.makeconftest(OWN_FIXTURE)

    result = path.runpytest(*A, *xdist)

    assert result.ret in {pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR}
    output = [line for line in (*result.outlines, *result.errlines) if "learns from its conversations" in line]
    assert any("does not allow that: the fixture 'mine' of conftest.py" in line for line in output)
    assert [] == server.seen


def test_skipped_conversation_of_a_learner_is_omitted(project: Project, providers: Providers) -> None:
    """The others are played in order."""
    server = providers(answer_by_role)
    path = project(stream(6))
    path.makeconftest(
        "import pytest\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n"
        "        if 'c02' in item.nodeid:\n            item.add_marker(pytest.mark.skipif(True, reason='never'))\n"
    )

    result = path.runpytest(*A, "-n", "2")

    assert 1 == result.parseoutcomes()["skipped"]
    assert list("01345") == learned(server)


class Killing:
    """Models that kill the whole run when a certain firm is asked for the first time."""

    def __init__(self, firm: str) -> None:
        self._firm = firm
        self.victim: subprocess.Popen[bytes] | ForkedProcess | None = None
        self.ready = threading.Event()

    def __call__(self, seen: Seen) -> Answer:
        """Answer, or kill."""
        if self._firm in seen.last_user_text and seen.tools != ("review",) and self.victim:
            assert self.ready.wait(SOON)
            victim, self.victim = self.victim, None
            victim.send_signal(signal.SIGKILL)
            victim.wait(SOON)
            return Say("Nobody hears this.")
        return answer_by_role(seen)


def test_killed_run_continues_where_it_was(project: Project, providers: Providers) -> None:
    """With the playbook after the last recorded conversation: nothing is learned twice."""
    brain = Killing("Firm4 Ltd")
    server = providers(brain)
    path = project(stream(6))
    command = ["-m", "pytest", *A, "-p", "no:xdist", "--crmeval-run", "mine", "-q"]
    with (path.path / "output.txt").open("wb") as output:
        brain.victim = victim = start(command, folder=path.path, output=output)
    brain.ready.set()
    assert -signal.SIGKILL == victim.wait(SOON)
    assert list("0123") == learned(server)

    result = path.runpytest(*A, "-p", "no:xdist", "--crmeval-run", "mine")

    result.assert_outcomes(passed=2, deselected=4)
    assert list("012345") == learned(server)
    trials = trials_of(path.path)
    assert [(1, 0), (2, 1), (3, 2), (4, 2), (5, 2), (6, 2)] == [
        (trial["learning"]["position"], trial["learning"]["entries"]) for trial in trials
    ]
    first = next(seen for seen in reversed(server.seen) if "Firm4 Ltd" in seen.last_user_text and not seen.results)
    assert RULE in shown(first)


class Sniping:
    """Models that kill a worker during the fourth conversation, when the first three have been reported."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self.run: subprocess.Popen[bytes] | ForkedProcess | None = None
        self.ready = threading.Event()

    def __call__(self, seen: Seen) -> Answer:
        """Answer; the first time, kill the worker before."""
        if self.run and seen.tools == ("reward",) and "Firm3 Ltd" in seen.last_user_text:
            assert self.ready.wait(SOON)
            run, self.run = self.run, None
            eventually(lambda: "[ 50%]" in self._output.read_text(encoding="utf-8"), "three of six are reported")
            os.kill(workers_of(run.pid)[-1], signal.SIGKILL)
        return answer_by_role(seen)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="workers are found in /proc")
def test_killed_worker_does_not_change_the_order(project: Project, providers: Providers) -> None:
    """The learner's conversation is played once more, and then the next, in the order of the dataset."""
    path = project(stream(6))
    brain = Sniping(path.path / "output.txt")
    server = providers(brain)
    command = ["-m", "pytest", *A, "-n", "2", "--crmeval-inflight", "1", "-v"]
    with (path.path / "output.txt").open("wb") as output:
        brain.run = run = start(command, folder=path.path, output=output)
        brain.ready.set()
        try:
            run.wait(SOON)
        finally:
            run.kill()
    found = report_of(path.path)["trials"]
    trials = sorted((each for each in found if "learning" in each), key=lambda each: int(each["learning"]["position"]))

    assert "crashed while running" in (path.path / "output.txt").read_text(encoding="utf-8")
    assert [] == [each["case"] for each in found if each["verdict"] == "errored"]
    assert [(case, number) for number, case in enumerate(IN_ORDER, start=1)] == [
        (trial["case"], trial["learning"]["position"]) for trial in trials
    ]
    assert list("012345") == learned(server)


def test_errored_conversation_is_played_later_and_reported_as_late(project: Project, providers: Providers) -> None:
    """With the playbook of that time; held-out cases were measured before, and are not paid for again."""
    broken = ["Firm1 Ltd"]

    def failing(seen: Seen) -> Answer:
        return Status(400) if broken and broken[0] in seen.last_user_text else answer_by_role(seen)

    server = providers(failing)
    path = project(stream(3, 1))
    path.runpytest(*A, "-p", "no:xdist", "--crmeval-run", "mine").assert_outcomes(passed=1, failed=3)
    broken.clear()

    result = path.runpytest(*A, "-p", "no:xdist", "--crmeval-run", "mine")

    result.assert_outcomes(failed=1, deselected=3)
    assert list("021") == learned(server)
    assert [("c00", 1), ("c02", 2), ("c01", 3)] == [
        (trial["case"], trial["learning"]["position"])
        for trial in trials_of(path.path)
        if not trial["learning"]["held_out"]
    ]
    result.stdout.fnmatch_lines(
        ["learning of *; 1 played out of order, after they had errored; *", "held out (after 2 of 3 *"]
    )


def test_failure_to_learn_is_reported(project: Project, providers: Providers) -> None:
    """The conversation counts; the report says that nothing was learned from it."""

    def mumbling(seen: Seen) -> Answer:
        return Say("Well done, all of you!") if seen.tools == ("revise",) else answer_by_role(seen)

    providers(mumbling)
    path = project(stream(2))
    result = path.runpytest(*A, "-p", "no:xdist")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["note: atlas*: nothing was learned: it made 0 calls instead of one*(2 trials)"])
    (summary,) = report_of(path.path)["results"]
    assert 0 == summary["learning"]["counts"]["added"]


def test_learner_does_not_hold_up_other_agents(project: Project, providers: Providers) -> None:
    """Other agents finish while the learner's first conversation waits.

    The learner keeps the order of the dataset, although workers steal items from each other.
    """
    done = threading.Event()
    waiting: list[bool] = []

    def patient(seen: Seen) -> Answer:
        if seen.tools == ("reward",) and not waiting:
            waiting.append(done.wait(SOON))
        elif seen.results and "Firm5" in seen.last_user_text:
            done.set()
        return answer_by_role(seen)

    server = providers(patient)
    path = project(stream(6))
    path.runpytest(*A, *B, "-n", "2", "--dist", "worksteal")

    assert [True] == waiting
    assert 12 == len(report_of(path.path)["trials"])
    assert IN_ORDER == [trial["case"] for trial in trials_of(path.path)]
    assert list("012345") == learned(server)


class Striking:
    """Models that kill the worker while three conversations of a baseline are in flight.

    The learner's first conversation waits until the baseline's have been played, except the one that xdist blames for
    the crash.
    """

    def __init__(self) -> None:
        self.pid: Future[int] = Future()
        """The process of the run, once it is known."""
        self.waited: list[bool] = []
        """Whether they were played while the learner's conversation waited."""
        self._in_flight = threading.Barrier(3)
        self._struck = threading.Event()
        self._played: set[str] = set()
        self._all_played = threading.Event()

    def __call__(self, seen: Seen) -> Answer:
        """Answer the first three of the baseline once the worker is dead, and the learner's reward model last."""
        if seen.tools == ("reward",) and not self.waited:
            self.waited.append(self._all_played.wait(SOON))
        elif seen.model == "n" and not self._struck.is_set():
            self._strike()
        elif seen.model == "n" and seen.results:
            self._played.add(seen.last_user_text)
            if len(self._played) == len(IN_ORDER) - 1:
                self._all_played.set()
        return answer_by_role(seen)

    def _strike(self) -> None:
        if self._in_flight.wait(SOON) == 0:
            (worker,) = workers_of(self.pid.result(SOON))
            os.kill(worker, signal.SIGKILL)
            self._struck.set()
        assert self._struck.wait(SOON)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="workers are found in /proc")
def test_cases_of_a_killed_worker_do_not_wait_for_the_learner(project: Project, providers: Providers) -> None:
    """Items of a dead worker are queued behind the learner's slow items; idle slots play the cases earlier."""
    path = project(stream(6))
    brain = Striking()
    providers(brain)
    command = ["-m", "pytest", *A, "--crmeval-agent", "openai:n", "-n", "1", "--crmeval-inflight", "4"]
    with (path.path / "output.txt").open("wb") as output:
        run = start(command, folder=path.path, output=output)
        brain.pid.set_result(run.pid)
        try:
            run.wait(2 * SOON)
        finally:
            run.kill()

    played = [trial["case"] for trial in report_of(path.path)["trials"] if trial["subject"] == "openai:n"]
    assert [True] == brain.waited
    assert IN_ORDER == sorted(played)
