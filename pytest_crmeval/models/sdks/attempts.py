"""One attempt through an SDK: send the request, and return the answer or a typed error within the deadline.

The SDKs' ``post`` is used instead of their typed methods: openai takes 6 ms per call to check every parameter against
its type, and anthropic lacks parameters that its older API accepts.
"""

import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, Self

import httpx2
from anyio.lowlevel import checkpoint

from pytest_crmeval.domain.messages import thoughts_apart
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.backend import BackendAnswer
from pytest_crmeval.models.sdks.bodies import ARRIVALS
from pytest_crmeval.models.sdks.dialect import Dialect, UnusableError
from pytest_crmeval.models.sdks.encoding import encoded, parsed
from pytest_crmeval.models.sdks.errors import (
    ErrorResponse,
    Target,
    error_response,
    excerpt,
    explained,
    failed,
    limits,
    shown,
)
from pytest_crmeval.models.sdks.event_loop import TooLargeError, run
from pytest_crmeval.models.sdks.streams import joined
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.models.usage_meter import current
from pytest_crmeval.ports.chat_model import Cause, ModelError, Prompt

_BROKEN: tuple[type[Exception], ...] = (httpx2.HTTPError, httpx2.InvalidURL, OSError, TooLargeError, CancelledError)
"""Errors that end a call without an answer, besides those of the SDK."""
PREPARING = 60.0
"""Seconds that are more than enough to load a module."""


class SdkClient(Protocol):
    """What the SDKs' clients have in common."""

    def post(
        self,
        path: str,
        *,
        cast_to: type[httpx2.Response],
        body: object = ...,
        content: bytes = ...,
        options: Any,  # noqa: ANN401 (each SDK's own)
    ) -> Coroutine[Any, Any, httpx2.Response]:
        """Send a request."""
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...


def target_of(spec: ModelSpec, key: str, address: str) -> Target:
    """Return the target of requests; ModelError if the key has characters that no key has."""
    target = Target(provider=spec.provider, model=spec.model, address=shown(address), key_name=spec.key_name, key=key)
    if not (key.isascii() and key.isprintable()):
        raise failed(Cause.AUTHENTICATION, f"{spec.key_name} contains characters that are not allowed in a key", target)
    return target


class SdkBackend:
    """A model behind an SDK, with one API, or another if the server requires it."""

    def __init__(  # noqa: PLR0913 (what the SDKs differ in)
        self,
        target: Target,
        client: Callable[[], SdkClient],
        errors: tuple[type[Exception], ...],
        dialect: Dialect,
        *,
        other: Dialect | None = None,
        as_object: bool = False,
    ) -> None:
        self._target = target
        self._client = client
        self._errors = errors + _BROKEN
        self._dialect = dialect
        self._other = other
        self._as_object = as_object
        """Whether the client wants the request as an object, because it changes it."""
        self._notes: tuple[str, ...] = ()

    def prepared(self) -> Self:
        """Make the client, and load what httpx2 loads with its first connection.

        Otherwise the first call would do it while it holds a permit, and reach the server late.
        """
        self._ready_client()
        run(checkpoint(), PREPARING)
        return self

    def attempt(self, prompt: Prompt, seconds: float, ask_again: Callable[[], None] = lambda: None) -> BackendAnswer:
        """Send one request; another only if the server refuses a parameter that can be left out."""
        while True:
            dialect, begun = self._dialect, time.monotonic()
            body = dialect.body(prompt)
            try:
                response = run(self._post(dialect, body), seconds)
            except self._errors as error:
                refusal = error_response(error)
                if refusal is None or not self._adapt(refusal, dialect, body):
                    # Without the SDK's error, whose text may contain the key.
                    raise explained(error, self._target) from None
            else:
                meter = current()
                for note in (*self._notes, *dialect.settings.notes):
                    meter.note(note)
                return self._read(dialect, response, begun)
            seconds -= time.monotonic() - begun
            ask_again()  # outside of the except clause, so that its errors don't have the SDK's error as context

    def _post(self, dialect: Dialect, body: Mapping[str, Any]) -> Coroutine[Any, Any, httpx2.Response]:
        post = partial(self._ready_client().post, dialect.path, cast_to=httpx2.Response)
        options = {"headers": dialect.headers(body)}
        if self._as_object:
            return post(body=parsed(encoded(body)), options=options)
        return post(content=encoded(body), options=options)

    def _ready_client(self) -> SdkClient:
        try:
            return self._client()
        except (ImportError, ValueError, OSError) as error:  # an invalid proxy or certificate in the environment
            what = f"could not create a client in this environment: {type(error).__name__}: {error}"
            raise failed(Cause.UNREACHABLE, what, self._target) from None

    def _adapt(self, refusal: ErrorResponse, dialect: Dialect, body: Mapping[str, Any]) -> bool:
        """Switch to the other API or leave out a parameter, if the server wants that; False if it does not."""
        other = self._other
        if other is not None and dialect is not other and f"v1{other.path}" in refusal.words:
            self._dialect = other
            self._notes = (f"{self._target.model} is only supported in v1{other.path}, which was used instead",)
            return True
        return dialect.settings.do_without(refusal, body)

    def _read(self, dialect: Dialect, response: httpx2.Response, begun: float) -> BackendAnswer:
        ended, first, record = time.monotonic(), None, None
        arrivals = response.extensions.get(ARRIVALS)
        try:
            if arrivals is None:
                record = parsed(response.content)
            else:
                record, place = joined(dialect.path, response.content)
                first = next((when for count, when in arrivals if count >= place), ended) - begun
            completion = dialect.read(record)
            completion = replace(completion, reply=thoughts_apart(completion.reply))
        except UnusableError as error:
            raise self._unusable(error.cause, str(error), response, dialect.usage(record)) from None
        except (ValueError, RecursionError) as error:
            raise self._unusable(Cause.MALFORMED, f"not JSON ({error})", response) from None
        headers = limits(response.headers)
        return BackendAnswer(completion=completion, headers=headers, seconds=ended - begun, first_seconds=first)

    def _unusable(self, cause: Cause, why: str, response: httpx2.Response, usage: Usage | None = None) -> ModelError:
        start = excerpt(response.content.decode("utf-8", "replace"), self._target)
        error = failed(cause, f"no answer: {why}: {start}", self._target)
        error.headers, error.usage = limits(response.headers), usage
        error.too_long = cause is Cause.BAD_REQUEST  # the answer did not fit into the context
        return error
