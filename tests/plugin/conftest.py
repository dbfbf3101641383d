"""What tests of models share: a loopback server instead of the providers', and a key that must never be shown."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.local import LocalSandbox
from tests.conftest import STRANGERS
from tests.fake_sandbox import CONFTEST, PROBLEMS, RAN, TEST, solution, write_lines
from tests.providers.answers import Answer
from tests.providers.loopback import Loopback, Seen, crm_brain

CANARY = "sk-canary-0123456789abcdef0123456789"
Brain = Callable[[Seen], Answer] | Sequence[Answer]


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give runs a terminal in which no line is wrapped; the output on 80 columns has its own tests."""
    monkeypatch.setenv("COLUMNS", "400")


@pytest.fixture
def providers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Loopback]]:
    """Return a function that installs a brain at the address of both providers."""
    opened: list[Loopback] = []

    def open_with(brain: Brain = crm_brain) -> Loopback:
        server = Loopback(brain).__enter__()
        opened.append(server)
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(name, CANARY)
        return server

    yield open_with
    for server in opened:
        server.__exit__(None, None, None)


@pytest.fixture
def local() -> None:
    """Skip if this machine can't isolate programs."""
    try:
        with closing(LocalSandbox()) as sandbox:
            sandbox.name  # noqa: B018 (looks)
    except SandboxError as error:
        pytest.skip(str(error))


@pytest.fixture
def judging(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.Pytester]:
    """Return a function that makes a project of checkpoints, on a machine without a PostgreSQL server."""
    monkeypatch.setenv("CRMEVAL_DSN", "host=127.0.0.1 port=1 connect_timeout=1")
    monkeypatch.delenv("CRMEVAL_PISTON_URL", raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in sorted({*STRANGERS, "hypothesispytest"})))
    RAN.clear()

    def make(
        files: dict[str, list[Any]] | None = None, *, ini: str = "", test: str = TEST, conftest: str = CONFTEST
    ) -> pytest.Pytester:
        for name, lines in (files or {"checkpoint-49/s": [solution("a")]}).items():
            write_lines(Path(pytester.path, "runs", f"{name}.jsonl"), *lines)
        write_lines(Path(pytester.path, "problems.jsonl"), *PROBLEMS)
        pytester.makepyfile(test_it=test, conftest=conftest)
        pytester.makeini(f"[pytest]\n{ini}")
        return pytester

    return make
