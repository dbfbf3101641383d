"""A lost connection repeats the trial in progress, and a short outage of the server changes nothing."""

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pytest_crmeval.postgres.databases import Address
from tests.plugin.conftest import providers
from tests.plugin.test_inflight import M, many
from tests.postgres.processes import Run, eventually, running
from tests.postgres.servers import OwnServer, own_server
from tests.projects import case, report_of
from tests.providers.answers import Answer
from tests.providers.loopback import Loopback, Seen, crm_brain

__all__ = ["providers"]
Project = Callable[..., pytest.Pytester]
SEVERAL = ("--crmeval-inflight", "3", "-n", "2")
ALONE = ("--crmeval-inflight", "1", "-p", "no:xdist")
COUNT = 12
BREAKING = """
import os, signal, time
from pathlib import Path

import psycopg
from pytest_crmeval import Reply, ToolCall

def backends():
    with psycopg.connect(os.environ["CRMEVAL_DSN"], autocommit=True) as connection:
        return [pid for (pid,) in connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname LIKE 'crmeval_%' OR application_name LIKE 'crmeval_%'"
        )]

def terminate():
    with psycopg.connect(os.environ["CRMEVAL_DSN"], autocommit=True) as connection:
        for pid in backends():
            connection.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])

def kill():
    witness = psycopg.connect(os.environ["CRMEVAL_DSN"], autocommit=True)
    os.kill(backends()[-1], signal.SIGKILL)
    while not witness.closed:  # all sessions end with one that crashes
        try:
            witness.execute("SELECT 1")
        except psycopg.OperationalError:
            witness.close()
    while True:  # the server takes connections again once the last session has ended
        try:
            psycopg.connect(os.environ["CRMEVAL_DSN"]).close()
        except psycopg.OperationalError:
            time.sleep(0.01)
        else:
            return

def away():
    Path("stop").touch()
    while not Path("stopped").exists():
        time.sleep(0.01)

class Breaking:
    name = "breaking"
    times = 1

    def __init__(self, how="terminate"):
        self.how = globals()[how]

    def reply(self, messages, tools):
        if "c05" in messages[0].text and messages[-1].speaker == "crm" and self.first():
            self.how()
        if messages[-1].speaker == "crm":
            return Reply(text="Done.")
        name = " ".join(messages[0].text.split()[1:3]).rstrip(",")
        arguments = {"name": name, "email": "ada@ada.example", "status": "Active"}
        return Reply(calls=[ToolCall(tool="create_new_client", arguments=arguments)])

    def first(self):
        for number in range(self.times):
            try:
                Path(f"broken-{number}").touch(exist_ok=False)
            except FileExistsError:
                continue
            return True
        return False

class Always(Breaking):
    times = 100
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnServer]:
    """Start a server for the runs of a test, which can be stopped."""
    del tmp_path  # its path may be too long for a socket
    with own_server(Path("/tmp") / f"own-{secrets.token_hex(4)}") as server:  # noqa: S108 (a name of its own)
        monkeypatch.setenv("CRMEVAL_DSN", server.conninfo)
        yield server


@pytest.fixture
def breaking(project: Project) -> pytest.Pytester:
    """Make a project whose agent breaks something during case c05."""
    pytester = project(many(COUNT))
    pytester.makepyfile(breaking=BREAKING)
    return pytester


@pytest.mark.parametrize(("how", "mode"), [("terminate", ALONE), ("terminate", SEVERAL), ("kill", SEVERAL)])
def test_lost_connections_do_not_change_verdicts(
    own: OwnServer, breaking: pytest.Pytester, how: str, mode: Sequence[str]
) -> None:
    """All sessions of the run end during a trial: every case passes, and nothing is left on the server."""
    del own

    result = breaking.runpytest("--crmeval-agent", f"breaking:Breaking?how={how}", *mode)

    result.assert_outcomes(passed=COUNT)
    trials = {trial["case"]: trial for trial in report_of(breaking.path)["trials"]}
    assert trials["c05"]["notes"][0].startswith("played again: the connection to PostgreSQL was lost: ")
    assert [] == databases_of_runs()


def test_only_the_trial_that_loses_its_connection_twice_is_errored(own: OwnServer, breaking: pytest.Pytester) -> None:
    """It is played once more; the others pass."""
    del own

    result = breaking.runpytest("--crmeval-agent", "breaking:Always", *SEVERAL)

    verdicts = {trial["case"]: trial["verdict"] for trial in report_of(breaking.path)["trials"]}
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert {"c05"} == {name for name, verdict in verdicts.items() if verdict == "errored"}
    assert COUNT - 1 == list(verdicts.values()).count("passed")


def test_players_wait_for_a_server_that_restarts(own: OwnServer, breaking: pytest.Pytester) -> None:
    """The server is stopped until the progress shows that players wait for it."""
    arguments = ("--crmeval-agent", "breaking:Breaking?how=away", "--crmeval-progress", "on", *SEVERAL)
    with running(breaking.path, *arguments, forked=True) as run:
        stop_when_asked(own, run)
        eventually(lambda: "crmeval: waiting for PostgreSQL (unreachable for " in run.output(), "it is shown")
        own.start()

        assert pytest.ExitCode.OK == run.end(), run.output()
    (summary,) = report_of(breaking.path)["results"]
    assert (COUNT, 0) == (summary["passed"], summary["errored"])


def test_run_stops_if_the_server_stays_unreachable_and_can_be_resumed(
    own: OwnServer, breaking: pytest.Pytester
) -> None:
    """Unfinished cases are not run, instead of errored, and a resumed run plays them."""
    breaking.makeini("[pytest]\npythonpath = .\ncrmeval_page = false\ncrmeval_server_wait = 1\n")
    arguments = ("--crmeval-agent", "breaking:Breaking?how=away", "--crmeval-run", "the-run", *SEVERAL)
    with running(breaking.path, *arguments, forked=True) as run:
        stop_when_asked(own, run)

        assert pytest.ExitCode.TESTS_FAILED == run.end(), run.output()
    (summary,) = report_of(breaking.path)["results"]
    said = "the run was stopped: PostgreSQL was unreachable for 1 s (crmeval_server_wait);"
    assert said in run.output()
    assert 0 == summary["errored"]
    assert COUNT == summary["passed"] + summary["not_run"]
    assert summary["not_run"] > 0

    own.start()
    breaking.runpytest(*arguments).assert_outcomes(passed=summary["not_run"])
    assert COUNT == report_of(breaking.path)["results"][0]["passed"]


def test_cost_of_a_lost_dialogue_is_included_in_the_trial(
    own: OwnServer, project: Project, providers: Callable[..., Loopback]
) -> None:
    """Its calls were paid for; the transcript shows only the dialogue that counts."""
    numbers = count(1)

    def brain(seen: Seen) -> Answer:
        if "c05" in seen.last_user_text and next(numbers) == 2:  # the second call: the transaction is open
            with psycopg.connect(own.conninfo, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname ~ 'ahead$'"
                )
        return crm_brain(seen)

    server = providers(brain)
    pytester = project(many(COUNT))

    pytester.runpytest(*M, "-p", "no:xdist").assert_outcomes(passed=COUNT)

    trials = {trial["case"]: trial for trial in report_of(pytester.path)["trials"]}
    assert len(server.seen) == sum(trial["bill"]["usage"]["calls"] for trial in trials.values())
    assert 2 * COUNT < len(server.seen)
    assert 4 == trials["c05"]["bill"]["usage"]["calls"]


WAITING = """
import os, select
import psycopg
from bots import Half

def wait_for_timeout(*statements):
    with psycopg.connect(os.environ["CRMEVAL_DSN"], autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
        select.select([connection.fileno()], [], [])  # the server ends the session
        connection.close()

class Waiting(Half):
    def reply(self, messages, tools):
        if messages[-1].speaker == "crm":
            wait_for_timeout("BEGIN")
            wait_for_timeout()
        return super().reply(messages, tools)
"""


def test_time_outs_of_a_given_server_do_not_end_our_sessions(
    project: Project, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent takes longer than the server's idle time-out; the run still drops its databases at the end."""
    role = f"hurried_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN CREATEDB".encode())
        for name in ("idle_in_transaction_session_timeout", "idle_session_timeout"):
            connection.execute(f"ALTER ROLE {role} SET {name} = '2s'".encode())
    monkeypatch.setenv("CRMEVAL_DSN", make_conninfo(server, user=role, dbname="postgres"))
    pytester = project([case("one")])
    pytester.makepyfile(waiting=WAITING)

    result = pytester.runpytest("--crmeval-agent", "waiting:Waiting", "--crmeval-run", "hurried")

    result.assert_outcomes(passed=1)
    assert "notes" not in report_of(pytester.path)["trials"][0]
    assert "could not drop" not in result.stderr.str()
    assert [] == databases_of_runs("crmeval_hurried_")


@pytest.mark.parametrize("name", ["idle_in_transaction_session_timeout", "idle_session_timeout"])
def test_sessions_of_a_run_have_no_idle_time_out(server: str, name: str) -> None:
    """Whatever the server's options say; the connection that marks a run as alive is idle until the run ends."""
    address = Address(make_conninfo(server, options=f"-c {name}=7s"))

    with psycopg.connect(address.conninfo) as plain, address.connect() as ours:
        found = [connection.execute(f"SHOW {name}".encode()).fetchone() for connection in (plain, ours)]

    assert [("7s",), ("0",)] == found


def stop_when_asked(server: OwnServer, run: Run) -> None:
    """Stop the server during case c05, and let its agent continue."""
    eventually((run.folder / "stop").exists, "case c05 is being played")
    server.stop()
    (run.folder / "stopped").touch()


def databases_of_runs(prefix: str = "crmeval_") -> list[str]:
    """Return the databases that runs have left."""
    with psycopg.connect(os.environ["CRMEVAL_DSN"]) as connection:
        rows = connection.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [prefix])
        return [name for (name,) in rows]
