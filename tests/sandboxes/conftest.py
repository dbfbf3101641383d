"""A Piston server for those tests that want nothing special of it."""

import shutil
from collections.abc import Iterator

import pytest

from pytest_crmeval.sandboxes.piston import PistonSandbox
from tests.sandboxes.piston_server import PistonServer
from tests.sandboxes.pistons import QUICK


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
