"""What is removed together with a server, and what is not."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_crmeval.postgres import keeper

Started = Callable[..., "subprocess.Popen[str]"]
WAITING = "import sys; print('ready', flush=True); sys.stdin.read()"


@pytest.fixture
def started() -> Iterator[Started]:
    """Start a process with any name and arguments; it is ended after the test."""
    processes = []

    def start(name: str, *arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [name, "-c", WAITING, *arguments],
            executable=sys.executable,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stdout is not None
        assert "ready\n" == process.stdout.readline()
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the folder of a server."""
    folder = tmp_path / f"{keeper.PREFIX}12345678"
    (folder / "data").mkdir(parents=True)
    return folder


def test_initdb_that_hangs_is_not_waited_for_forever(
    started: Started, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be suspended, and its keeper killed: the next run would never start."""
    monkeypatch.setattr(keeper, "START_SECONDS", 0.1)
    monkeypatch.setattr(keeper, "STOP_SECONDS", 0.1)
    hanging = started("initdb", "-D", str(home / "data"))

    keeper.clear_away(home)

    assert hanging.wait() < 0
    assert not home.exists()


def test_process_that_only_looks_at_the_folder_of_a_server_is_not_ended(started: Started, home: Path) -> None:
    """Such as a user's ``du``; the server itself is ended."""
    server = started("postgres", "-D", str(home / "data"))
    looking = started("du", "-s", str(home / "data"))

    keeper.clear_away(home)

    assert server.wait() < 0
    assert looking.poll() is None
    assert not home.exists()


def test_folder_of_a_server_is_not_removed_while_its_process_lives(home: Path) -> None:
    """It is removed when that process has released it."""
    owners = {home.stat().st_uid}
    with keeper.lock_home(home):
        keeper.sweep([home.parent], owners)
        assert home.exists()

    keeper.sweep([home.parent], owners={home.stat().st_uid + 1})
    assert home.exists()

    keeper.sweep([home.parent], owners)
    assert not home.exists()
