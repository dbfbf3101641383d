"""What the tests of sandboxes share: a sandbox of every level that this machine allows."""

import sys
from collections.abc import Iterator

import pytest

from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.local import LocalSandbox

WALLED = ("namespaces", "landlock", "seccomp")


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
    """Return a sandbox if its level can be had here."""
    try:
        assert sandbox.name
    except SandboxError as error:
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
