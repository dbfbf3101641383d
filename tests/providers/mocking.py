"""Servers that are not there: respx answers at the providers' own addresses, in the words of the loopback server."""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any, Self

import httpcore2
import httpx
import pytest
import respx
from respx.mocks import HTTPCoreMocker

from tests.providers.answers import Answer, Malformed, Speaking, Status
from tests.providers.delivery import Seen
from tests.providers.manners import objection


class Httpcore2Mocker(HTTPCoreMocker):
    """What respx does to httpcore, done to httpcore2, which is what the SDKs use."""

    name = "httpcore2"
    targets = [target.replace("httpcore.", "httpcore2.", 1) for target in HTTPCoreMocker.targets]  # noqa: RUF012 (respx)

    @classmethod
    def from_sync_httpx_response(cls, httpx_response: httpx.Response, target: Any, **_: Any) -> Any:  # noqa: ANN401, ARG003 (respx)
        """Return the response as httpcore2 has it."""
        return httpcore2.Response(
            status=httpx_response.status_code,
            headers=httpx_response.headers.raw,
            content=httpx_response.stream,
            extensions=httpx_response.extensions,
        )


class Mocked:
    """All servers of the world, while the context lasts: their answers come one after the other, the last for ever."""

    url = ""
    """None: the providers' own."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.seen: list[Seen] = []
        self._answers = list(answers)
        self._numbers = count(1)
        self._router = respx.MockRouter(using="httpcore2", assert_all_called=False)
        self._router.route().mock(side_effect=self._answer)
        self._environment = pytest.MonkeyPatch()

    def __enter__(self) -> Self:
        """Take the place of the network, below httpx2's own connections."""
        self._environment.setenv("CRMEVAL_HTTP", "sdk")
        self._router.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self._router.stop(clear=False, reset=False)
        self._environment.undo()

    def _answer(self, request: httpx.Request) -> httpx.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = json.loads(request.content)
        seen = Seen(method=request.method, path=request.url.path, headers=headers, body=body)
        self.seen.append(seen)
        refused = objection(seen.path, headers, seen.body)
        answer = refused or (self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])
        return self._response(seen, answer)

    def _response(self, seen: Seen, answer: Answer) -> httpx.Response:
        match answer:
            case Status(code=code, headers=headers, body=None):
                return httpx.Response(code, headers=dict(headers), json=seen.dialect.error(answer))
            case Malformed(body=body):
                return httpx.Response(200, content=body)
        assert isinstance(answer, Speaking)
        speech = answer.speech
        told = seen.dialect.answer(speech, seen.model, next(self._numbers))
        return httpx.Response(200, headers=dict(speech.headers), json=told)
