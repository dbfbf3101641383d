"""One attempt at one call: what an SDK backend does, and a cache for what it derives from tools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from pytest_crmeval.domain.messages import Tool
from pytest_crmeval.ports.chat_model import Completion, Prompt

T = TypeVar("T")
MOST = 512
"""Tuples in the cache: each slot of a worker has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendAnswer:
    """The result of one attempt: the completion, and what the server says about its limits."""

    completion: Completion
    headers: Mapping[str, str] = field(default_factory=dict)
    """Response headers about rate limits, names in lower case."""
    seconds: float = 0.0
    """From sending the request to the complete answer."""
    first_seconds: float | None = None
    """From sending the request to the first token; None if the answer was not streamed."""


class Backend(Protocol):
    """An SDK that makes one attempt, with its own retries off."""

    def attempt(self, prompt: Prompt, seconds: float, ask_again: Callable[[], None] = lambda: None) -> BackendAnswer:
        """Send one request; ModelError if there is no complete answer within ``seconds``, whatever the server does.

        If the server refuses a setting or requires another API, the request is sent again at once, in another form:
        ``ask_again`` is called before each such request, and its time is not part of ``seconds``.
        """
        ...


class ToolsCache(Generic[T]):
    """Caches what ``make`` returns for a tuple of tools; not for a list, which may change."""

    def __init__(self, make: Callable[[Sequence[Tool]], T]) -> None:
        self._make = make
        self._known: dict[int, tuple[Sequence[Tool], T]] = {}

    def of(self, tools: Sequence[Tool]) -> T:
        """Return the result for ``tools``."""
        known = self._known.get(id(tools))
        if known is not None:
            return known[1]
        made = self._make(tools)
        if isinstance(tools, tuple):
            if len(self._known) >= MOST:
                self._known = {}
            self._known[id(tools)] = (tools, made)  # keeps the tuple alive, so that its id is not reused
        return made
