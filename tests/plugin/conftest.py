"""What the tests of models share: a loopback server instead of the providers' own, and a key that must not be seen."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.providers.answers import Answer
from tests.providers.loopback import Loopback, Seen, crm_brain

CANARY = "sk-canary-0123456789abcdef0123456789"
Brain = Callable[[Seen], Answer] | Sequence[Answer]


@pytest.fixture
def providers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Loopback]]:
    """Return a function that has a brain answer at the address of both providers."""
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
