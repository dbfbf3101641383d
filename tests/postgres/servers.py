"""A PostgreSQL that a test can stop, kill and start again, with its data kept."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from pytest_crmeval.crm import embedded
from tests.postgres.processes import eventually


class OwnServer:
    """A server of the test's own."""

    def __init__(self, home: Path) -> None:
        binaries = embedded.find_binaries()
        order = embedded._order(binaries, embedded._identity(binaries), home)  # noqa: SLF001 (as the run starts its own)
        self.conninfo = f"host={home} port=5432 user=postgres dbname=postgres"
        self._data = home / "data"
        self._command = order["postgres"]
        subprocess.run(order["initdb"], check=True, capture_output=True, cwd="/")  # type: ignore[call-overload]
        self.start()

    def start(self) -> None:
        """Start, and return when it answers."""
        self._process = subprocess.Popen(  # type: ignore[call-overload]
            self._command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        eventually(self.answers, "the server answers")

    def stop(self) -> None:
        """Stop it as ``pg_ctl stop -m fast`` does, and return when it is gone."""
        os.kill(self._postmaster(), signal.SIGINT)
        self._process.wait(60)

    def close(self) -> None:
        """End it at once, if it runs."""
        if self._process.poll() is None:
            os.kill(self._postmaster(), signal.SIGQUIT)
            self._process.wait(60)

    def answers(self) -> bool:
        """Whether one can connect."""
        try:
            psycopg.connect(self.conninfo).close()
        except psycopg.OperationalError:
            return False
        return True

    def _postmaster(self) -> int:
        return int((self._data / "postmaster.pid").read_text().split()[0])


@contextmanager
def own_server(home: Path) -> Iterator[OwnServer]:
    """Give a server in a folder that is made for it, and removed."""
    home.mkdir()
    server = OwnServer(home)
    try:
        yield server
    finally:
        server.close()
        shutil.rmtree(home)
