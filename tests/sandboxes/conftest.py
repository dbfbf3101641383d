"""What the tests of sandboxes share: a sandbox of every level that this machine allows, and a Piston server."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.local import LocalSandbox
from pytest_crmeval.sandboxes.piston import PistonSandbox
from tests.sandboxes.piston_server import PistonServer
from tests.sandboxes.pistons import QUICK

WALLED = ("namespaces", "landlock", "seccomp")
BROKEN = ("it died", "a program can't be run in it", "programs can escape from it")
"""Reasons why a level can't be reached that are not the machine's: it allows the level, which does not work."""


@pytest.fixture(scope="session")
def walled() -> Iterator[dict[str, LocalSandbox]]:
    """Keep one sandbox of each level."""
    if sys.platform != "linux":
        pytest.skip("the local sandbox needs Linux")
    sandboxes = {level: LocalSandbox(level, workers=1, unsafe=level == "rlimits") for level in (*WALLED, "rlimits")}
    yield sandboxes
    for sandbox in sandboxes.values():
        sandbox.close()


def allowed(sandbox: LocalSandbox) -> LocalSandbox:
    """Return a sandbox if its level can be had here; fail if it could be, but does not work."""
    try:
        assert sandbox.name
    except SandboxError as error:
        if any(reason in str(error) for reason in BROKEN):
            raise
        pytest.skip(str(error))
    return sandbox


@pytest.fixture(params=WALLED)
def sandbox(request: pytest.FixtureRequest, walled: dict[str, LocalSandbox]) -> LocalSandbox:
    """Return the sandbox of each level that protects, in turn."""
    return allowed(walled[request.param])


@pytest.fixture
def limited(walled: dict[str, LocalSandbox]) -> LocalSandbox:
    """Return the sandbox that has nothing but limits."""
    return allowed(walled["rlimits"])


@pytest.fixture
def public() -> Iterator[Path]:
    """Create a world-writable folder: pytest's are private, and programs run as another user."""
    with TemporaryDirectory(prefix="crmeval-public-", dir="/tmp") as folder:  # the user nobody gets no access to others
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.fixture(scope="session")
def piston_server() -> Iterator[PistonServer]:
    """Start a server that is well."""
    with PistonServer() as server:
        yield server


@pytest.fixture(scope="session")
def piston(piston_server: PistonServer) -> Iterator[PistonSandbox]:
    """Return a sandbox that uses it."""
    sandbox = PistonSandbox(piston_server.url, patience=QUICK)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session")
def compiler() -> None:
    """Skip a test where there is no C++ compiler for the server to use."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ here")
