"""However a run ends, nothing of its server is left: real processes, real signals."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.postgres.processes import commands, eventually, mentions, running
from tests.projects import case, failing, report_of

Project = Callable[..., pytest.Pytester]

SLOW = """
import time
from pathlib import Path
from bots import Half

class Slow(Half):
    def reply(self, messages, tools):
        time.sleep(0.0 if Path("go-on").exists() else 0.1)
        return super().reply(messages, tools)

class Pausing(Half):
    replies = 0

    def reply(self, messages, tools):
        Pausing.replies += 1
        while Pausing.replies > 8 and not Path("go-on").exists():
            time.sleep(0.02)
        return super().reply(messages, tools)

class Waiting(Half):
    def reply(self, messages, tools):
        while not Path("go-on").exists():
            time.sleep(0.02)
        return super().reply(messages, tools)

class WaitingForAdd(Waiting):
    def reply(self, messages, tools):
        wait = messages[0].text.startswith("Add")
        return super().reply(messages, tools) if wait else Half.reply(self, messages, tools)
"""


@pytest.fixture
def slow(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a project with many slow cases."""
    monkeypatch.delenv("CRMEVAL_DSN", raising=False)
    pytester = project([case(f"case-{number}") for number in range(30)])
    pytester.makepyfile(slow=SLOW)
    return pytester.path


def test_nothing_is_left_after_a_normal_end(project: Project) -> None:
    """Also with failing tests. The second case waits until the server was inspected."""
    pytester = project([failing("one"), case("two")])
    pytester.makepyfile(slow=SLOW)

    with running(pytester.path, "-n", "1", "--crmeval-agent", "slow:WaitingForAdd") as run:
        eventually(lambda: run.journalled() > 0, "a trial is in the journal")
        run.look_at_server()
        (pytester.path / "go-on").touch()

        assert pytest.ExitCode.TESTS_FAILED == run.end()
    run.nothing_left()


def test_nothing_is_left_after_ctrl_c(slow: Path) -> None:
    """Once: the run stops, finished cases are in journal and report, the others are not run."""
    with running(slow, "-n", "1", "--crmeval-agent", "slow:Slow", forked=True) as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        run.look_at_server()
        run.interrupt()

        assert pytest.ExitCode.INTERRUPTED == run.end(), run.output()
    run.nothing_left()
    report = report_of(slow)
    (summary,) = report["results"]
    assert run.journalled() == summary["passed"] == len(report["trials"])
    assert 30 == summary["planned"]
    assert not report["complete"]


def test_nothing_is_left_after_ctrl_c_twice(slow: Path) -> None:
    with running(slow, "-n", "1", "--crmeval-agent", "slow:Slow", forked=True) as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        run.look_at_server()
        run.interrupt()
        time.sleep(0.1)  # two signals at once are one
        run.interrupt()

        assert run.end() != pytest.ExitCode.OK
    run.nothing_left()


@pytest.mark.parametrize(
    ("number", "xdist"),
    [
        pytest.param(signal.SIGKILL, ["-n", "1"], id="SIGKILL -n 1"),
        pytest.param(signal.SIGHUP, ["-p", "no:xdist"], id="SIGHUP -p no:xdist"),
    ],
)
def test_nothing_is_left_after_the_controller_was_killed(slow: Path, xdist: list[str], number: signal.Signals) -> None:
    """By any signal but SIGKILL it ends as by Ctrl-C; the server ends by itself, and the run can be resumed."""
    arguments = ("--crmeval-agent", "slow:Slow", "--crmeval-run", "the-killed", *xdist)
    with running(slow, *arguments, forked=True) as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        run.look_at_server()
        run.process.send_signal(number)

        assert (-number if number is signal.SIGKILL else pytest.ExitCode.INTERRUPTED) == run.end()
        run.nothing_left()
    before = run.journalled()

    (slow / "go-on").touch()
    with running(slow, *arguments, forked=True) as again:
        assert pytest.ExitCode.OK == again.end(), again.output()
    assert 30 == again.journalled()
    assert f"resumed: {before} done" in again.output()
    assert 30 == report_of(slow)["results"][0]["passed"]


@pytest.mark.parametrize("milliseconds", [50, 250])
def test_nothing_is_left_after_the_owner_was_killed_while_the_server_starts(tmp_path: Path, milliseconds: int) -> None:
    """A killed initdb would leave a server, its shared memory and the folder."""
    before = left_in_memory()
    program = (
        "import time; from pytest_crmeval.postgres.embedded import EmbeddedServer, find_binaries;"
        "server = EmbeddedServer(find_binaries()); print(server.conninfo, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as owner:
        assert owner.stdout is not None
        home = Path(owner.stdout.readline().split()[0].removeprefix("host="))
        time.sleep(milliseconds / 1000)
        owner.kill()

    eventually(lambda: not home.exists(), f"{home} is gone")
    eventually(lambda: not mentions(home), f"no process uses {home}")
    eventually(lambda: not left_in_memory() - before, "no shared memory is left")


def test_nothing_is_left_after_the_keeper_was_killed(slow: Path) -> None:
    """The run continues, and its controller removes the server."""
    with running(slow, "-n", "1", "--crmeval-agent", "slow:Waiting", forked=True) as run:
        eventually(lambda: "crmeval server" in run.output(), "it has begun")
        run.look_at_server()
        os.kill(run.keepers[0], signal.SIGKILL)
        (slow / "go-on").touch()

        assert pytest.ExitCode.OK == run.end(), run.output()
    run.nothing_left()
    assert 30 == report_of(slow)["results"][0]["passed"]


def test_nothing_is_left_after_the_postmaster_was_killed(slow: Path) -> None:
    """The run stops at once with the reason, other cases are not run, and the System V segment is removed."""
    with running(slow, "-n", "1", "--crmeval-agent", "slow:Waiting", forked=True) as run:
        eventually(lambda: "crmeval server" in run.output(), "it has begun")
        run.look_at_server()
        os.kill(run.postmasters[0], signal.SIGKILL)
        (slow / "go-on").touch()

        assert pytest.ExitCode.TESTS_FAILED == run.end(), run.output()
    run.nothing_left()
    (summary,) = report_of(slow)["results"]
    assert "the run was stopped: the embedded PostgreSQL has stopped" in run.output()
    assert 0 == summary["errored"]
    assert 30 == summary["passed"] + summary["not_run"]


def test_next_run_removes_the_server_after_keeper_and_controller_were_killed(slow: Path) -> None:
    """The server survives both of them. A server that is in use is not removed."""
    waiting = ("-n", "1", "--crmeval-agent", "slow:Waiting")
    with running(slow, *waiting, forked=True) as run:
        eventually(lambda: "crmeval server" in run.output(), "it has begun")
        run.look_at_server()
        with running(slow, *waiting, forked=True) as living:
            eventually(lambda: "crmeval server" in living.output(), "it has begun")
            living.look_at_server()
            killed = [*run.keepers, *run.workers()]
            os.kill(run.keepers[0], signal.SIGKILL)
            os.killpg(run.process.pid, signal.SIGKILL)
            run.end()
            eventually(lambda: not any(commands().get(pid, [""])[0] for pid in killed), "its processes have ended")
            assert mentions(run.homes[0])

            with running(slow, "-k", "case-1", "-p", "no:xdist", forked=True) as following:
                assert pytest.ExitCode.OK == following.end(), following.output()
            run.nothing_left()
            assert living.homes[0].exists()
            (slow / "go-on").touch()

            assert pytest.ExitCode.OK == living.end(), living.output()
    living.nothing_left()


def test_nothing_is_left_after_the_keeper_was_killed_during_startup(tmp_path: Path) -> None:
    """The waiting process gets an error, and a running initdb leaves nothing."""
    before = left_in_memory()
    program = (
        "from pytest_crmeval.postgres.embedded import EmbeddedServer, find_binaries;"
        "server = EmbeddedServer(find_binaries());"
        "print(server._keeper.pid, server.conninfo, flush=True); server.wait()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as owner:
        assert owner.stdout is not None
        pid, host, *_ = owner.stdout.readline().split()
        home = Path(host.removeprefix("host="))
        eventually(lambda: str(home / "data") in str(mentions(home)[1:]), "initdb is at work")
        os.kill(int(pid), signal.SIGKILL)
        _, said = owner.communicate()

    assert "the embedded PostgreSQL did not start: its supervisor process ended" in said
    assert not home.exists()
    assert not mentions(home)
    eventually(lambda: not left_in_memory() - before, "no shared memory is left")


TINY = """
import os
from pytest_crmeval.postgres.embedded import EmbeddedServer, find_binaries

server = EmbeddedServer(find_binaries())
try:
    server.wait()
finally:
    server.stop()
    print("left:", os.listdir("/dev/shm"))
"""


def test_tiny_shared_memory_is_enough_and_nothing_is_left_in_it(tmp_path: Path) -> None:
    """Containers often have a small /dev/shm; the server's data is then elsewhere."""
    before = left_in_memory()
    mount = 'mount -t tmpfs -o size=4k tmpfs /dev/shm && exec "$@"'
    apart = ["unshare", "--mount", "sh", "-c", mount, "sh"]
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespaces here")

    result = subprocess.run(
        [*apart, sys.executable, "-c", TINY], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert (0, "left: []\n") == (result.returncode, result.stdout), result.stderr
    eventually(lambda: not left_in_memory() - before, "no shared memory is left")


def left_in_memory() -> set[str]:
    """Return the shared memory of PostgreSQL that no process has attached or mapped."""
    segments = {line for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:] if line.split()[6] == "0"}
    maps = "".join(path.read_text() for path in Path("/proc").glob("[0-9]*/maps") if readable(path))
    return segments | {str(path) for path in Path("/dev/shm").glob("PostgreSQL.*") if str(path) not in maps}  # noqa: S108


def readable(path: Path) -> bool:
    """Return whether the process still exists and can be inspected."""
    try:
        path.read_text()
    except OSError:
        return False
    return True


def test_nothing_is_left_after_a_worker_was_killed(slow: Path) -> None:
    """The run continues with a replacement, which plays the case of the killed worker again."""
    with running(slow, "-n", "2", "--crmeval-agent", "slow:Pausing", forked=True) as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        run.look_at_server()
        os.kill(run.workers()[0], signal.SIGKILL)
        (slow / "go-on").touch()

        assert pytest.ExitCode.TESTS_FAILED == run.end(), run.output()
    run.nothing_left()
    (summary,) = report_of(slow)["results"]
    assert (30, 0, 0) == (summary["passed"], summary["errored"], summary["not_run"])


def test_nothing_is_left_on_a_given_server(slow: Path, server: str) -> None:
    """A run drops its databases, including those of a crashed worker."""
    arguments = ("-n", "2", "--crmeval-agent", "slow:Pausing", "--crmeval-run", "given-crash")
    with running(slow, *arguments, environment={"CRMEVAL_DSN": server}, forked=True) as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        assert {"crmeval_given-crash_gw0", "crmeval_given-crash_gw1"} == databases(server, "given-crash")
        os.kill(run.workers()[0], signal.SIGKILL)
        (slow / "go-on").touch()

        assert pytest.ExitCode.TESTS_FAILED == run.end(), run.output()
    assert set() == databases(server, "given-crash")


def test_nothing_is_left_on_a_given_server_after_ctrl_c_twice(slow: Path, server: str) -> None:
    """Its databases are dropped by the next run at the latest."""
    run_id = "given-interrupt"
    arguments = ("-n", "2", "--crmeval-agent", "slow:Slow", "--crmeval-run", run_id)
    with running(slow, *arguments, environment={"CRMEVAL_DSN": server}, forked=True) as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        for _ in range(2):
            run.interrupt()
            time.sleep(0.1)
        run.end()

    eventually(lambda: not sessions(server, run_id), "the run has no connection")
    with running(slow, "-k", "case-1", environment={"CRMEVAL_DSN": server}, forked=True) as following:
        following.end()
    assert set() == databases(server, run_id)


def test_leftovers_on_a_given_server_are_dropped_by_the_next_run(slow: Path, server: str) -> None:
    """A killed controller can't drop its databases; the next run does, and keeps those of running processes."""
    given = {"CRMEVAL_DSN": server}
    agent = ("--crmeval-agent", "slow:Slow", "-n", "2")
    with running(slow, *agent, "--crmeval-run", "given-dead", environment=given, forked=True) as run:
        eventually(lambda: run.journalled() > 3, "trials are in the journal")
        assert databases(server, "given-dead")
        run.process.kill()
        run.end()  # the databases it leaves are dropped by the next run, perhaps that of another test

    eventually(lambda: not sessions(server, "given-dead"), "the killed run has no connection")
    waiting = ("--crmeval-agent", "slow:Waiting", "-n", "2")
    with running(slow, *waiting, "--crmeval-run", "given-living", environment=given, forked=True) as living:
        its_own = {f"crmeval_given-living_{name}" for name in ("gw0", "gw1")}
        eventually(lambda: its_own == databases(server, "given-living"), "it has its databases")
        eventually(lambda: not databases(server, "given-dead"), "leftovers are swept")
        with running(slow, "--crmeval-run", "given-third", environment=given, forked=True) as third:
            assert pytest.ExitCode.OK == third.end(), third.output()
        assert its_own == databases(server, "given-living")
        (slow / "go-on").touch()

        assert pytest.ExitCode.OK == living.end(), living.output()
    assert set() == databases(server, "given-living")


def sessions(server: str, run: str) -> int:
    """Count the open connections of a run's controller and workers; a run with one counts as alive."""
    with psycopg.connect(server) as connection:
        (count,) = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, %(run)s) "
            "OR starts_with(datname, %(run)s)",
            {"run": f"crmeval_{run}_"},
        ).fetchone() or (0,)
    return int(count)


def databases(server: str, run: str) -> set[str]:
    """Return the databases of a run."""
    with psycopg.connect(server) as connection:
        rows = connection.execute(
            "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [f"crmeval_{run}_"]
        ).fetchall()
    return {name for (name,) in rows}
