"""A CRM without pytest leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from pytest_crmeval.conversations.crm.postgres import PostgresCrm
from pytest_crmeval.conversations.crm.standalone import standalone_crm
from pytest_crmeval.domain.conversation import NOW
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.postgres.embedded import ServerUnavailable
from tests.postgres.processes import eventually, mentions

PROGRAM = """
import sys
from pytest_crmeval.conversations.crm.standalone import standalone_crm

with standalone_crm() as crm:
    conninfo = crm._connection.info.dsn
    print(conninfo, {"pytest", "_pytest"} & sys.modules.keys(), flush=True)
    sys.stdin.readline()
"""


def run_of(crm: PostgresCrm) -> str:
    """Return the prefix of the names of a CRM's databases."""
    return crm._connection.info.dbname.rpartition("_")[0]  # noqa: SLF001 (only this test needs it)


def databases(server: str, run: str) -> set[str]:
    """Return the databases of a run; other tests create theirs on the same server at the same time."""
    with psycopg.connect(server, autocommit=True) as connection:
        names = connection.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [run])
        return {name for (name,) in names}


def test_databases_on_a_given_server_are_dropped(server: str) -> None:
    with standalone_crm(server) as crm:
        run = run_of(crm)
        with crm.seeded({}, NOW):
            assert [] == crm.call(ToolCall(tool="client_search")).value
        assert 1 == len(databases(server, run))

    assert set() == databases(server, run)


def test_databases_are_dropped_even_if_the_caller_fails(server: str) -> None:
    runs = []

    def fail() -> None:
        with standalone_crm(server) as crm:
            runs.append(run_of(crm))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()

    assert set() == databases(server, *runs)


def test_missing_server_is_reported_in_one_line() -> None:
    with (
        pytest.raises(ServerUnavailable, match=r"127\.0\.0\.1:9 can't be reached"),
        standalone_crm("host=127.0.0.1 port=9"),
    ):
        pass


@pytest.mark.parametrize("interrupted", [False, True], ids=["normal end", "ctrl-c"])
def test_embedded_server_is_removed(tmp_path: Path, *, interrupted: bool) -> None:
    """Its processes and its folder; pytest is not needed."""
    environment = {name: value for name, value in os.environ.items() if name != "CRMEVAL_DSN"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
    ) as program:
        assert program.stdout is not None
        shown = program.stdout.readline()
        found = re.search(r"host=(\S+)", shown)
        assert found, shown
        home = Path(found[1])
        assert home.exists()
        if interrupted:
            os.killpg(program.pid, signal.SIGINT)
        _, errors = program.communicate("\n", timeout=600)

    assert shown.rstrip().endswith("set()")
    assert interrupted == ("KeyboardInterrupt" in errors), errors
    eventually(lambda: not home.exists(), f"{home} is gone")
    eventually(lambda: not mentions(home), f"no process uses {home}")
