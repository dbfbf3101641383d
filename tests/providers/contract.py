"""One dialect over one wire: where every backend has to do the same."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest

from pytest_crmeval.domain.messages import Message, Tool, user_says
from pytest_crmeval.models.backend import Backend
from pytest_crmeval.models.sdks.anthropic import anthropic_backend
from pytest_crmeval.models.sdks.openai import openai_backend
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.ports.chat_model import Completion, ModelError, Prompt
from tests.providers.answers import Answer, Say
from tests.providers.loopback import Loopback
from tests.providers.mocking import Mocked

KEY = "sk-canary-5d0c61f2b7aa4e19"
SECONDS = 60.0
TOOLS = (
    Tool(
        name="client_search",
        description="Find clients.",
        parameters={"type": "object", "properties": {"name": {"type": "string"}}},
    ),
    Tool(name="add_note", description="Write a note.", parameters={"type": "object", "properties": {}}),
)
WIRES: dict[str, Callable[[Sequence[Answer]], AbstractContextManager[Any]]] = {"respx": Mocked, "socket": Loopback}
DIALECTS = ("chat", "responses", "messages")


class Desk:
    """One dialect over one wire."""

    def __init__(self, dialect: str, wire: str) -> None:
        self.dialect = dialect
        self.wire = wire

    def server(self, *answers: Answer) -> AbstractContextManager[Any]:
        """Return a server with scripted answers."""
        return WIRES[self.wire](answers)

    def backend(self, server: Any, **settings: Any) -> Backend:  # noqa: ANN401 (either server; any setting)
        """Return a backend that asks ``server``."""
        if self.dialect == "messages":
            spec = ModelSpec(provider="anthropic", model="claude-sonnet-4-5-20250929", **settings)
            return anthropic_backend(spec, KEY, server.url)
        spec = ModelSpec(provider="openai", model="gpt-4.1", api=self.dialect, **settings)
        return openai_backend(spec, KEY, server.url and f"{server.url}/v1")

    def completion(self, answer: Answer) -> Completion:
        """Return what is understood of an answer."""
        with self.server(answer) as server:
            return self.backend(server).attempt(prompt(), SECONDS).completion

    def error(self, answer: Answer) -> ModelError:
        """Return what an attempt ends with."""
        (error,) = self.errors(answer)
        return error

    def errors(self, *answers: Answer) -> list[ModelError]:
        """Return what attempts end with, one for each answer."""
        errors = []
        with self.server(*answers) as server:
            backend = self.backend(server)
            for _ in answers:
                with pytest.raises(ModelError) as caught:
                    backend.attempt(prompt(), SECONDS)
                errors.append(caught.value)
        assert len(answers) == len(server.seen)
        return errors

    def body(self, asked: Prompt) -> dict[str, Any]:
        """Return what is sent, and taken."""
        with self.server(Say("Done.")) as server:
            self.backend(server).attempt(asked, SECONDS)
        body: dict[str, Any] = server.seen[0].body
        return body


def prompt(messages: Sequence[Message] = (user_says("Hello"),), must_call: str = "") -> Prompt:
    """Return a request."""
    return Prompt(system="You are a clerk.", messages=messages, tools=TOOLS, must_call=must_call)
