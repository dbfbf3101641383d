"""The line: deadlines that hold, interruptions, and nothing that is left."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from pytest_crmeval.models.sdks import event_loop
from tests.providers.loopback import Loopback, Say

NAME = "crmeval-models"
SOON = 300.0
"""Seconds in which anything that happens at all has happened."""
HANGING = """
import socket, time
socket.getaddrinfo = lambda *_, **__: time.sleep(600)
from pytest_crmeval.ports.chat_model import Prompt
from pytest_crmeval.ports.chat_model import ModelError
from pytest_crmeval.models.sdks.openai import openai_backend
from pytest_crmeval.models.specs import ModelSpec
backend = openai_backend(ModelSpec.parse("openai:m"), "", "http://slow.example/v1")
try:
    backend.attempt(Prompt(system="Hi", messages=()), 0.5)
except ModelError as error:
    print(error.cause)
"""
FIRST = """
import sys
from pytest_crmeval.domain.messages import user_says
from pytest_crmeval.ports.chat_model import Prompt
from pytest_crmeval.models.sdks.openai import openai_backend
from pytest_crmeval.models.specs import ModelSpec
backend = openai_backend(ModelSpec.parse("openai:m?api=chat"), "", sys.argv[1])
before = set(sys.modules)
backend.attempt(Prompt(system="Hi", messages=(user_says("Hello"),)), 20.0)
libraries = ("anyio", "httpcore2", "httpx2", "openai")
print(*(name for name in sys.modules.keys() - before if name.startswith(libraries)))
"""


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Begin and end without a line."""
    event_loop.close()
    yield
    event_loop.close()


class Client:
    """Something that can be closed."""

    closed = False

    async def close(self) -> None:
        """Be closed."""
        self.closed = True


async def value(result: str) -> str:
    """Return at once."""
    return result


def lines() -> int:
    """Return how many lines there are."""
    return sum(thread.name == NAME for thread in threading.enumerate())


def test_a_result_comes_back() -> None:
    """From the one thread."""
    assert ["a", "b"] == [event_loop.run(value(text), SOON) for text in "ab"]
    assert 1 == lines()


def test_an_error_comes_back() -> None:
    """As it is."""

    async def fail() -> None:
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        event_loop.run(fail(), SOON)


def test_slow_call_is_cancelled() -> None:
    """Whatever it was waiting for."""
    ended = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(TimeoutError):
        event_loop.run(forever(), 0.05)

    assert ended.wait(SOON)


def test_no_time_left() -> None:
    """It is not even begun to wait."""
    with pytest.raises(TimeoutError):
        event_loop.run(asyncio.sleep(60), 0.0)


def test_an_interrupted_caller_cancels_its_call() -> None:
    """And is interrupted himself."""
    begun, ended = threading.Event(), threading.Event()

    async def forever() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    def interrupt() -> None:
        begun.wait(SOON)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        event_loop.run(forever(), SOON)

    assert ended.wait(SOON)


def test_a_name_lookup_that_hangs_does_not_keep_the_process_alive() -> None:
    """The call has ended long ago."""
    ended = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=300, check=False)

    assert (0, "timeout\n") == (ended.returncode, ended.stdout)


def test_names_are_looked_up() -> None:
    """As everywhere else."""

    async def addresses() -> object:
        return await asyncio.get_running_loop().getaddrinfo("localhost", 80, type=socket.SOCK_STREAM)

    assert socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM) == event_loop.run(addresses(), SOON)


def test_unknown_host_name_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    async def addresses() -> object:
        return await asyncio.get_running_loop().getaddrinfo("nobody.example", 80)

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(socket.gaierror, match="unknown"):
        event_loop.run(addresses(), SOON)


def test_many_threads_share_the_line() -> None:
    """Each gets its own result."""
    together = threading.Barrier(8)
    results: list[str] = []

    def ask(name: str) -> None:
        together.wait(SOON)
        results.append(event_loop.run(value(name), SOON))

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert list("abcdefgh") == sorted(results)
    assert 1 == lines()


def test_clients_are_created_once_per_key() -> None:
    """Made when it is first wanted."""
    first = event_loop.client("a", Client)

    assert first is event_loop.client("a", Client)
    assert first is not event_loop.client("b", Client)


def test_closing_leaves_nothing() -> None:
    """Twice is as good as once."""
    client = event_loop.client("a", Client)
    event_loop.run(value("x"), SOON)

    event_loop.close()
    event_loop.close()

    assert client.closed
    assert 0 == lines()


def test_closing_ends_the_calls() -> None:
    errors: list[BaseException] = []
    begun = threading.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    def ask() -> None:
        try:
            event_loop.run(forever(), SOON)
        except BaseException as error:  # noqa: BLE001 (looked at below)
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    begun.wait(SOON)
    event_loop.close()
    thread.join(SOON)

    assert ["CancelledError"] == [type(error).__name__ for error in errors]


def test_after_closing_there_is_another_line() -> None:
    """With clients of its own."""
    client = event_loop.client("a", Client)
    event_loop.close()

    assert client is not event_loop.client("a", Client)
    assert "x" == event_loop.run(value("x"), SOON)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nobody forks here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_child_has_a_line_of_its_own() -> None:
    """Threads don't survive a fork; to wait for them would be to wait for ever."""
    event_loop.run(value("x"), SOON)
    child = os.fork()
    if not child:
        os._exit(0 if event_loop.run(value("x"), SOON) == "x" else 1)

    assert 0 == os.waitpid(child, 0)[1]


def test_a_first_call_loads_nothing_on_its_way() -> None:
    """It has a permit by then, and the server counts when it arrives."""
    with Loopback([Say("Hello.")]) as server:
        command = [sys.executable, "-c", FIRST, server.openai_url]
        result = subprocess.run(command, check=True, capture_output=True, text=True)

    assert 1 == len(server.seen)
    assert "" == result.stdout.strip()
