"""pytest-postgresql's server fixtures, replaced so that ``postgresql`` and its variants use the run's server."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # this module is loaded in every pytest run of the environment
    from pytest_postgresql.executors import NoopExecutor

    from pytest_crmeval.postgres.databases import RunDatabases


@pytest.fixture(scope="session")
def postgresql_proc(request: pytest.FixtureRequest) -> "Iterator[NoopExecutor]":
    """Address of a PostgreSQL: the run's server, instead of a process of its own."""
    executable = Path(_setting(request, "exec"))
    if _evaluates(request) or not executable.is_file() or os.geteuid() == 0:  # PostgreSQL refuses to run as root
        with _on_server_of_run(request) as address:
            yield address
    else:
        yield request.getfixturevalue("postgresql_proc")


@pytest.fixture(scope="session")
def postgresql_noproc(request: pytest.FixtureRequest) -> "Iterator[NoopExecutor]":
    """Address of an existing PostgreSQL: the run's server."""
    if _evaluates(request) or not _setting(request, "port"):
        with _on_server_of_run(request) as address:
            yield address
    else:
        yield request.getfixturevalue("postgresql_noproc")


def _evaluates(request: pytest.FixtureRequest) -> bool:
    """Whether this session evaluates cases; if not, pytest-postgresql keeps its own server if it has one."""
    from pytest_crmeval.collect.case_item import CASE

    return any(CASE in item.stash for item in request.session.items)


def _setting(request: pytest.FixtureRequest, name: str) -> str:
    """Return an option of pytest-postgresql, or its ini setting."""
    return str(request.config.getoption(f"postgresql_{name}") or request.config.getini(f"postgresql_{name}") or "")


@contextmanager
def _on_server_of_run(request: pytest.FixtureRequest) -> "Iterator[NoopExecutor]":
    """Create the template of each test's database, and load what ``postgresql_load`` names."""
    from pytest_postgresql.config import get_config
    from pytest_postgresql.janitor import DatabaseJanitor

    from pytest_crmeval.collect.context import context_of
    from pytest_crmeval.collect.names import RUN_FIXTURE
    from pytest_crmeval.postgres.databases import Janitor

    request.getfixturevalue(RUN_FIXTURE)
    databases, settings = context_of(request.config).services().server.databases(), get_config(request)
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    template = f"{databases.prefix}{worker}-{str(request.fixturename).replace('_', '-')}"
    address = _address(databases, template)
    loader = DatabaseJanitor(
        user=address.user,
        host=address.host,
        port=address.port,
        dbname=template,
        password=address.password,
        autocommit=settings.load_autocommit,
    )
    with Janitor(databases.address, template, as_template=True):
        for file in settings.load:
            loader.load(file)
        yield address


def _address(databases: "RunDatabases", template: str) -> "NoopExecutor":
    """Return the server's address and the name of a test's database, by which it is removed if the run is killed."""
    from psycopg.conninfo import conninfo_to_dict
    from pytest_postgresql.executors import NoopExecutor

    class Executor(NoopExecutor):
        template_dbname = template

    with databases.address.connect() as connection:
        info = connection.info
        return Executor(
            host=info.host,
            port=info.port,
            user=info.user,
            password=info.password or None,
            options=str(conninfo_to_dict(databases.address.conninfo).get("options") or ""),
            dbname=f"{databases.prefix}new-{secrets.token_hex(4)}",
            maintenance_dbname=info.dbname,
        )
