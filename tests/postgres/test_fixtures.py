"""Tests of users that use the run's PostgreSQL directly."""

import os
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from pytest_crmeval import plugin
from pytest_crmeval.collect.names import FIXTURES
from tests.postgres.test_lost_connections import databases_of_runs
from tests.projects import case

Project = Callable[..., pytest.Pytester]
XDIST = pytest.mark.parametrize("xdist", [["-n", "2"], ["-p", "no:xdist"]], ids=" ".join)
ROOT = Path(__file__).parents[2]

OWN = """
import pytest
from pytest_postgresql import factories

pg_noproc = factories.postgresql("postgresql_noproc")

@pytest.mark.parametrize("number", range(4))
def test_postgresql(postgresql, number):
    postgresql.execute("CREATE TABLE things (name text)")
    postgresql.execute("INSERT INTO things SELECT 'one'")
    postgresql.commit()
    assert postgresql.info.dbname.startswith("crmeval_")
    assert [("one",)] == postgresql.execute("SELECT * FROM things").fetchall()

@pytest.mark.parametrize("number", range(4))
def test_noproc(postgresql_noproc, pg_noproc, postgresql, number):
    assert (postgresql_noproc.host, postgresql_noproc.port) == (pg_noproc.info.host, pg_noproc.info.port)
    assert pg_noproc.info.dbname != postgresql.info.dbname
    pg_noproc.execute("CREATE TABLE others (name text)")
    assert [(1,)] == pg_noproc.execute("SELECT 1").fetchall()
"""


def test_fixtures_of_pytest_postgresql_use_the_server_of_the_run(project: Project, given_server: str) -> None:
    """Each test has its own database on the run's server; all are dropped."""
    pytester = project([case("one")], plugin="postgresql")
    pytester.makepyfile(test_own=OWN)

    result = pytester.runpytest("-n", "2", "--crmeval-run", "own-tests")

    result.assert_outcomes(passed=9)
    assert given_server == os.environ["CRMEVAL_DSN"]
    assert [] == databases_of_runs("crmeval_own-tests_")


def test_fixtures_of_pytest_postgresql_need_no_conversations(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedded server is started for them alone."""
    monkeypatch.delenv("CRMEVAL_DSN", raising=False)
    pytester = project(plugin="postgresql")
    pytester.makepyfile(test_own=OWN)

    pytester.runpytest("test_own.py").assert_outcomes(passed=8)


def test_postgresql_load_setting_is_applied_to_the_template(project: Project, given_server: str) -> None:
    del given_server
    pytester = project(plugin="postgresql", ini="postgresql_load = things.sql\n")
    Path(pytester.path, "things.sql").write_text("CREATE TABLE things AS SELECT 7 AS number;")
    pytester.makepyfile(
        test_own="""
        def test_loaded(postgresql):
            assert (7,) == postgresql.execute("SELECT number FROM things").fetchone()
        """
    )

    pytester.runpytest("test_own.py").assert_outcomes(passed=1)


def test_database_of_a_killed_test_is_dropped_by_the_next_run(project: Project, given_server: str) -> None:
    """The database is recognised by its name."""
    del given_server
    pytester = project([case("one")], plugin="postgresql")
    pytester.makepyfile(test_own="import os\n\ndef test_killed(postgresql): os._exit(1)")
    pytester.runpytest_subprocess("test_own.py", "--crmeval-run", "killed-test")
    left = databases_of_runs("crmeval_killed-test_")

    pytester.runpytest("test_crm.py").assert_outcomes(passed=1)

    assert left
    assert [] == databases_of_runs("crmeval_killed-test_")


def test_pytest_postgresql_keeps_the_configured_server_in_a_session_without_cases(
    project: Project, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    monkeypatch.delenv("CRMEVAL_DSN", raising=False)
    host = psycopg.conninfo.conninfo_to_dict(server)["host"]
    pytester = project(plugin="postgresql", ini=f"postgresql_host = {host}\npostgresql_port = 5432\n")
    pytester.makepyfile(
        test_own="""
        def test_name(postgresql_noproc):
            assert postgresql_noproc.dbname.startswith("tests")
        """
    )

    pytester.runpytest("test_own.py", "-p", "no:xdist").assert_outcomes(passed=1)


LOOKING = """
from datetime import UTC, datetime
from pytest_crmeval import ToolCall

ADA = {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"}

def test_rows(crm, crm_connection):
    with crm.seeded({}, datetime(2026, 1, 1, tzinfo=UTC)):
        crm.call(ToolCall(tool="create_new_client", arguments=ADA))
        assert [("Ada Ltd",)] == crm_connection.execute("SELECT name FROM clients").fetchall()
    assert [] == crm_connection.execute("SELECT name FROM clients").fetchall()

def test_database(crm_connection, request):
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    assert crm_connection.info.dbname.startswith("crmeval_")
    assert crm_connection.info.dbname.endswith(f"_{worker}")

def test_lost(crm_connection):
    import psycopg, pytest
    with pytest.raises(psycopg.Error):
        crm_connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

def test_reopened(crm_connection):
    assert (1,) == crm_connection.execute("SELECT 1").fetchone()
"""


@XDIST
def test_crm_connection_is_the_connection_of_the_crm(project: Project, given_server: str, xdist: list[str]) -> None:
    """It sees the rows of the trial, and is replaced for the next test if it was lost."""
    del given_server
    pytester = project([case("one")])
    pytester.makepyfile(test_own=LOOKING)

    pytester.runpytest(*xdist).assert_outcomes(passed=5)


def test_crm_connection_of_an_overridden_crm_is_an_error(project: Project, given_server: str) -> None:
    """The overriding CRM may have no database."""
    del given_server
    pytester = project([case("one")])
    pytester.makeconftest("import pytest\n\n@pytest.fixture(scope='session')\ndef crm(): return object()")
    pytester.makepyfile(test_own="def test_it(crm_connection): pass")

    result = pytester.runpytest("test_own.py")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*crm_connection needs pytest-crmeval's own fixture 'crm'*"])


def test_all_fixtures_are_on_the_reference_page() -> None:
    """Our fixtures, and those of pytest-postgresql that use the run's server."""
    page = (ROOT / "docs" / "reference" / "fixtures.md").read_text(encoding="utf-8")

    assert set(FIXTURES) == set(plugin.__all__)
    assert [] == [
        name for name in (*FIXTURES, "postgresql", "postgresql_proc", "postgresql_noproc") if f"`{name}`" not in page
    ]
