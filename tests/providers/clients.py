"""Our backends, pointed at the loopback server, and the bounds that keep a hang from hanging the tests."""

import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import pytest

from pytest_crmeval.domain.messages import Message, Tool, user_says
from pytest_crmeval.models.backend import Backend
from pytest_crmeval.models.sdks import attempts, event_loop
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.ports.chat_model import Prompt
from tests.fakes import PaperCrm

DIALECTS = ("chat", "responses", "anthropic")
KEY = "sk-canary-3b9f0c2ad7e54416"
GENEROUS = 120.0
"""Seconds after which a call that should have ended long ago has hung."""

Result = TypeVar("Result")


def spec_of(dialect: str, url: str, **settings: object) -> ModelSpec:
    """Return the spec of a model at ``url``, the root of a server."""
    if dialect == "anthropic":
        return ModelSpec(provider="anthropic", model="claude-loopback", base_url=url, **settings)  # type: ignore[arg-type]
    return ModelSpec(provider="openai", model="gpt-loopback", base_url=f"{url}/v1", api=dialect, **settings)  # type: ignore[arg-type]


def backend_of(dialect: str, url: str) -> Backend:
    """Return our backend for the server at ``url``."""
    from pytest_crmeval.models.sdks.anthropic import anthropic_backend
    from pytest_crmeval.models.sdks.openai import openai_backend

    spec = spec_of(dialect, url)
    make = anthropic_backend if dialect == "anthropic" else openai_backend
    return make(spec, KEY, spec.base_url)


def prompt_of(
    messages: Sequence[Message] = (user_says("hello"),), tools: Sequence[Tool] = tuple(PaperCrm.tools)
) -> Prompt:
    """Return a small request."""
    return Prompt(system="You write rows.", messages=messages, tools=tools)


def bounded(ask: Callable[[], Result], seconds: float = GENEROUS) -> Result:
    """Return or raise what ``ask`` does; AssertionError if it hangs."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(ask())
        except BaseException as error:  # noqa: BLE001 (raised in the thread of the test)
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise AssertionError(f"still not ended after {seconds} s")
    if errors:
        raise errors[0]
    return results[0]


def note_deadlines(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the list to which every request adds the seconds that it may take."""
    deadlines: list[float] = []

    def noted(request: Coroutine[Any, Any, object], seconds: float) -> object:
        deadlines.append(seconds)
        return event_loop.run(request, seconds)

    monkeypatch.setattr(attempts, "run", noted)
    return deadlines
