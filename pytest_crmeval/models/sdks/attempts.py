"""One attempt through an SDK: the request goes out, the answer or a typed error comes back, within the deadline.

The SDKs' typed methods are not used but the one below them, which takes a finished request: to check every parameter
against its type takes openai 6 ms a call, and anthropic no longer has all the parameters that its older API takes.
"""

import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any, Protocol, Self

import httpx2
from anyio.lowlevel import checkpoint

from pytest_crmeval.domain.messages import thoughts_apart
from pytest_crmeval.domain.prompt import Prompt
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.backend import Answer
from pytest_crmeval.models.sdks.dialect import Dialect, UnusableError
from pytest_crmeval.models.sdks.errors import (
    Asked,
    Complaint,
    complaint_of,
    excerpt,
    explained,
    failed,
    limits,
    shown,
)
from pytest_crmeval.models.sdks.wire import TooLargeError, run
from pytest_crmeval.models.sdks.wording import encoded, parsed
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.models.usage_meter import current
from pytest_crmeval.ports.chat_model import Cause, ModelError

_BROKEN: tuple[type[Exception], ...] = (httpx2.HTTPError, httpx2.InvalidURL, OSError, TooLargeError, CancelledError)
"""What ends a call without an answer, whatever the SDK."""
PREPARING = 60.0
"""Seconds that nobody needs to load a module."""


class SdkClient(Protocol):
    """What the SDKs' clients have in common."""

    def post(
        self,
        path: str,
        *,
        cast_to: type[httpx2.Response],
        content: bytes,
        options: Any,  # noqa: ANN401 (each SDK's own)
    ) -> Coroutine[Any, Any, httpx2.Response]:
        """Send a request."""
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...


def asked_of(spec: ModelSpec, key: str, address: str) -> Asked:
    """Return whom we are going to ask; ModelError if the key can't be one, which is better said before it is sent."""
    asked = Asked(provider=spec.provider, model=spec.model, address=shown(address), key_name=spec.key_name, key=key)
    if not (key.isascii() and key.isprintable()):
        raise failed(Cause.AUTHENTICATION, f"{spec.key_name} has characters in it that no key has", asked)
    return asked


class SdkBackend:
    """A model behind an SDK, spoken to in one dialect, or in another if the server wants that."""

    def __init__(
        self,
        asked: Asked,
        client: Callable[[], SdkClient],
        errors: tuple[type[Exception], ...],
        dialect: Dialect,
        *,
        other: Dialect | None = None,
    ) -> None:
        self._asked = asked
        self._client = client
        self._errors = errors + _BROKEN
        self._dialect = dialect
        self._other = other
        self._notes: tuple[str, ...] = ()

    def prepared(self) -> Self:
        """Do now what a first call would do on its way, with a permit in its hand: it would arrive late.

        A client is made, and what httpx2 loads with its first connection is loaded.
        """
        self._ready_client()
        run(checkpoint(), PREPARING)
        return self

    def attempt(self, prompt: Prompt, seconds: float, ask_again: Callable[[], None] = lambda: None) -> Answer:
        """Ask once; again only if the server refuses a parameter that it can do without."""
        while True:
            dialect, begun = self._dialect, time.monotonic()
            body = dialect.body(prompt)
            try:
                response = self._post(dialect, body, seconds)
            except self._errors as error:
                complaint = complaint_of(error)
                if complaint is None or not self._concede(complaint, dialect, body):
                    # Without the SDK's error, whose text may show the key.
                    raise explained(error, self._asked) from None
            else:
                self._take_note(dialect)
                return self._read(dialect, response)
            seconds -= time.monotonic() - begun
            ask_again()  # not above: what it raises would be told with the SDK's error

    def _post(self, dialect: Dialect, body: Mapping[str, Any], seconds: float) -> httpx2.Response:
        options = {"headers": dialect.headers(body)}
        sent = self._ready_client().post(dialect.path, cast_to=httpx2.Response, content=encoded(body), options=options)
        return run(sent, seconds)

    def _ready_client(self) -> SdkClient:
        try:
            return self._client()
        except (ImportError, ValueError, OSError) as error:  # a proxy or certificates of the environment that can't be
            told = f"no client can be made with this environment: {type(error).__name__}: {error}"
            raise failed(Cause.UNREACHABLE, told, self._asked) from None

    def _concede(self, complaint: Complaint, dialect: Dialect, body: Mapping[str, Any]) -> bool:
        other = self._other
        if other is not None and dialect is not other and f"v1{other.path}" in complaint.words:
            self._dialect = other
            self._notes = (f"{self._asked.model} is only supported in v1{other.path}: asked there",)
            return True
        return dialect.settings.concede(complaint, body)

    def _take_note(self, dialect: Dialect) -> None:
        meter = current()
        for note in (*self._notes, *dialect.settings.notes):
            meter.note(note)

    def _read(self, dialect: Dialect, response: httpx2.Response) -> Answer:
        record: object = None
        try:
            record = parsed(response.content)
            completion = dialect.read(record)
            completion = replace(completion, reply=thoughts_apart(completion.reply))
        except UnusableError as error:
            raise self._unusable(error.cause, str(error), response, dialect.usage(record)) from None
        except (ValueError, RecursionError) as error:
            raise self._unusable(Cause.MALFORMED, f"no JSON ({error})", response) from None
        return Answer(completion=completion, headers=limits(response.headers))

    def _unusable(self, cause: Cause, why: str, response: httpx2.Response, usage: Usage | None = None) -> ModelError:
        start = excerpt(response.content.decode("utf-8", "replace"), self._asked)
        error = failed(cause, f"no answer: {why}: {start}", self._asked)
        error.headers, error.usage = limits(response.headers), usage
        error.too_long = cause is Cause.BAD_REQUEST  # the answer did not fit into the context
        return error
