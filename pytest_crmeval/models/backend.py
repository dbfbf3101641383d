"""One attempt at one call: what an SDK has to do for us."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pytest_crmeval.domain.prompt import Completion, Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one attempt brought: the completion, and what the server said about its limits."""

    completion: Completion
    headers: Mapping[str, str] = field(default_factory=dict)
    """Response headers that speak of rate limits, names in lower case."""


class Backend(Protocol):
    """An SDK that makes one attempt, with its own retries off."""

    def attempt(self, prompt: Prompt, seconds: float, ask_again: Callable[[], None] = lambda: None) -> Answer:
        """Ask once; ModelError if there is no whole answer within ``seconds``, whatever the server does.

        A server that refuses a setting, or wants another API, is asked again at once: ``ask_again`` is called before
        each such request, and what it takes is not taken from the ``seconds``.
        """
        ...
