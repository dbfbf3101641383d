"""A PostgreSQL that a test can stop, kill and start again, with its data kept."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from pytest_crmeval.postgres import embedded
from tests.postgres.processes import eventually


class OwnServer:
    """A PostgreSQL server for one test."""

    def __init__(self, home: Path) -> None:
        binaries = embedded.find_binaries()
        order = embedded._order(binaries, embedded._identity(binaries), home)  # noqa: SLF001 (as the run starts its own)
        self.conninfo = f"host={home} port=5432 user=postgres dbname=postgres"
        self._data = home / "data"
        self._command = order["postgres"]
        subprocess.run(order["initdb"], check=True, capture_output=True, cwd="/")  # type: ignore[call-overload]
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._process = subprocess.Popen(  # type: ignore[call-overload]
            self._command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        eventually(self.answers, "the server answers")

    def stop(self) -> None:
        """Stop the server like ``pg_ctl stop -m fast`` and wait for its end."""
        os.kill(self._postmaster(), signal.SIGINT)
        self._process.wait(300)

    def close(self) -> None:
        """End it at once, if it is running."""
        if self._process.poll() is None:
            os.kill(self._postmaster(), signal.SIGQUIT)
            self._process.wait(300)

    def answers(self) -> bool:
        """Return whether the server accepts connections."""
        try:
            psycopg.connect(self.conninfo).close()
        except psycopg.OperationalError:
            return False
        return True

    def _postmaster(self) -> int:
        return int((self._data / "postmaster.pid").read_text().split()[0])


@contextmanager
def own_server(home: Path) -> Iterator[OwnServer]:
    """Yield a server in a temporary folder."""
    home.mkdir()
    server = OwnServer(home)
    try:
        yield server
    finally:
        server.close()
        shutil.rmtree(home)
