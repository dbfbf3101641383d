"""The HTTP client of the SDKs; imported only with an SDK, because httpx2 is slow to load."""

import os
from collections.abc import AsyncIterator
from urllib.request import getproxies

import httpx2

from pytest_crmeval.models.sdks.bodies import ARRIVALS, Body
from pytest_crmeval.models.sdks.direct import DirectTransport

VARIABLE = "CRMEVAL_HTTP"
"""``sdk``: use the connections of the SDKs' own HTTP library."""
_PROXIED = frozenset({"http", "https", "all"})
_LIMITS = httpx2.Limits(max_connections=200, max_keepalive_connections=200, keepalive_expiry=30.0)


def http_client() -> httpx2.AsyncClient:
    """Return a client for many concurrent calls: it reads at most MAX_BYTES, and follows no redirects with the key.

    Deadlines are kept by the caller. Certificates of the environment are used, and if it has proxies, httpx2's own
    connections.
    """
    headers = {"accept-encoding": "identity"}  # replies are small: decompression takes longer than it saves
    if _is_direct():
        transport = DirectTransport(httpx2.create_ssl_context(), _LIMITS)
        return httpx2.AsyncClient(timeout=None, follow_redirects=False, headers=headers, transport=transport)
    # A hook, because a custom transport would disable the proxies of the environment.
    hooks = {"response": [_limit]}
    return httpx2.AsyncClient(timeout=None, follow_redirects=False, headers=headers, limits=_LIMITS, event_hooks=hooks)


def _is_direct() -> bool:
    return os.environ.get(VARIABLE) != "sdk" and not _PROXIED & getproxies().keys()


async def _limit(response: httpx2.Response) -> None:
    body = Body(response.headers)
    if isinstance(response.stream, httpx2.AsyncByteStream):
        if body.is_stream:
            response.extensions[ARRIVALS] = body.arrivals
        response.stream = _Limited(response.stream, body)


class _Limited(httpx2.AsyncByteStream):
    """A body that ends with an error when it is too large."""

    def __init__(self, stream: httpx2.AsyncByteStream, body: Body) -> None:
        self._stream = stream
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield self._body.unpacked(chunk)

    async def aclose(self) -> None:
        await self._stream.aclose()
