"""A CRM for use outside of a test run, on a given server or on an embedded one."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pytest_crmeval.conversations.crm.postgres import PostgresCrm
from pytest_crmeval.postgres.databases import Address, RunDatabases
from pytest_crmeval.postgres.embedded import EmbeddedServer, find_binaries


@contextmanager
def standalone_crm(dsn: str | None = None) -> Iterator[PostgresCrm]:
    """Yield a CRM on the server at ``dsn``, else on an embedded one; everything is removed when the context ends.

    ServerUnavailable if there is no server; its message says what to do.
    """
    with ExitStack() as stack:
        if dsn:
            address = Address(dsn)
        else:
            server = EmbeddedServer(find_binaries())
            stack.callback(server.stop)
            server.wait()
            address = Address(server.conninfo, embedded=True)
        databases = RunDatabases(address, f"standalone-{secrets.token_hex(4)}")
        alive = databases.open()
        try:
            with databases.create("main").connect() as connection:
                yield PostgresCrm(connection)
        finally:
            databases.close(alive)
