"""What the tests share: a PostgreSQL per worker, small projects to run pytest in, no way out of the machine."""

import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.postgres.embedded import EmbeddedServer, find_binaries
from tests.forkserver import fork_pytest, fork_workers, import_everything, share_server
from tests.projects import AGENTS_FILE, DEV_DATA, TEST_FILE, case
from tests.reference_plays import BUNDLE, EVERY, EVERY_HARD, HARD, ReferencePlay, folder_of_run, plays_of, shared_plays

LOOPBACK = {"127.0.0.1", "::1", "localhost"}
STRANGERS = frozenset({"anyio", "hypothesispytest", "platformdirs", "postgresql", "respx", "syrupy", "timeout"})
"""Plugins that are installed here and that hardly any project of a test wants: most of the start of a worker."""


def _stay_home(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(address := arguments[1], tuple) and address[0] not in LOOPBACK:
        raise RuntimeError(f"a test wanted to leave this machine: {address}")


sys.addaudithook(_stay_home)
share_server()
# The pytest runs of tests print the same on every machine, in CI and with colours, and no key is there by accident.
for variable in (
    *("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "FORCE_COLOR", "NO_COLOR", "PY_COLORS"),
    *("PYTEST_ADDOPTS", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
):
    os.environ.pop(variable, None)
os.environ["COLUMNS"] = "80"  # the output is as wide as in a pipe, whatever the terminal is
# Property tests try the same examples on every machine, however busy it is.
settings.register_profile(
    "crmeval", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("crmeval")
# `make test &`, `nohup make test`: the parent process ignores a signal, and all our children would inherit that.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Freeze the thousands of collected tests, so that no garbage collection traverses them again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def forked_workers() -> None:
    """Fork the workers of the tests' pytest runs; the workers that run the tests are made before."""
    fork_workers()


@pytest.fixture(scope="session")
def imported() -> None:
    """Import what runs in this process use: pytester unloads what a run has imported, so each would do it again."""
    import_everything()


@pytest.fixture
def pytester(imported: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return pytest's own fixture, after everything that its runs import has been imported."""
    del imported
    fork_pytest(pytester, monkeypatch)
    return pytester


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Conninfo of a PostgreSQL for the runs of tests; each worker has its own: many tests name their run alike."""
    server = EmbeddedServer(find_binaries())
    try:
        server.wait()
        yield server.conninfo
    finally:
        server.stop()


@pytest.fixture
def given_server(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the pytest runs of a test use a server that is there, which is faster than one of their own."""
    monkeypatch.setenv("CRMEVAL_DSN", server)
    return server


@pytest.fixture(scope="module")
def bundled_plays(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, crm: Crm
) -> list[ReferencePlay]:
    """Return the reference plays of a sample of the bundled conversations, played once for all modules and workers."""
    return shared_plays(folder_of_run(pytestconfig, tmp_path_factory) / "bundled_plays", BUNDLE, crm, EVERY)


@pytest.fixture(scope="module")
def hard_plays(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, crm: Crm) -> list[ReferencePlay]:
    """Return the reference plays of a sample of the hard conversations, played once for all modules and workers."""
    return shared_plays(folder_of_run(pytestconfig, tmp_path_factory) / "hard_plays", HARD, crm, EVERY_HARD)


@pytest.fixture
def plays(request: pytest.FixtureRequest, crm: Crm) -> list[ReferencePlay]:
    """Return the reference plays of the file that ``parametrize`` names."""
    path: Path = request.param
    if not path.exists():
        pytest.skip(f"{path} is not here")
    fixture = {BUNDLE: "bundled_plays", HARD: "hard_plays"}.get(path)
    shared: list[ReferencePlay] | None = request.getfixturevalue(fixture) if fixture else None
    return shared or plays_of(path, crm, EVERY if path == DEV_DATA else 1)


@pytest.fixture
def without_strangers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that has the pytest runs of a test load no plugin but ours, xdist, and one that is named."""

    def leave_out(wanted: str = "") -> None:
        monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in sorted(STRANGERS - {wanted})))

    return leave_out


@pytest.fixture
def project(pytester: pytest.Pytester, without_strangers: Callable[..., None]) -> Callable[..., pytest.Pytester]:
    """Return a function that makes a project: cases, a test file, agents, gates."""

    def make(
        cases: list[dict[str, Any]] | None = None, *, ini: str = "", test: str = TEST_FILE, plugin: str = ""
    ) -> pytest.Pytester:
        without_strangers(plugin)
        cases = [case("one"), case("two"), case("three")] if cases is None else cases
        lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in cases]
        Path(pytester.path, "cases.jsonl").write_text("".join(lines), encoding="utf-8")
        pytester.makepyfile(test_crm=test, bots=AGENTS_FILE)
        # Most tests look at no page, and it takes as long as a small run.
        page = "" if "crmeval_page" in ini else "crmeval_page = false\n"
        pytester.makeini(f"[pytest]\npythonpath = .\n{page}{ini}")
        return pytester

    return make
