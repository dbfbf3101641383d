"""HTTP under the SDKs; imported only where an SDK is, for httpx2 is slow to load."""

import zlib
from collections.abc import AsyncIterator

import httpx2

from pytest_crmeval.models.sdks.wire import MAX_BYTES, TooLargeError

CONNECTIONS = 200
_GZIP_OR_ZLIB = 47
"""For zlib: find out by yourself."""
IDLE_SECONDS = 30.0
"""How long a connection is kept for the next call."""


def http_client() -> httpx2.AsyncClient:
    """Return a client with room for many calls: it reads no more than MAX_BYTES, and its key goes where it was sent.

    The deadline of a call is kept by whoever makes it. Proxies and certificates of the environment are heeded, as the
    SDKs do.
    """
    return httpx2.AsyncClient(
        timeout=None,
        follow_redirects=False,
        limits=httpx2.Limits(
            max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS, keepalive_expiry=IDLE_SECONDS
        ),
        headers={"accept-encoding": "identity"},  # a reply is small: to unpack it takes longer than to wait for it
        event_hooks={"response": [_limit]},
    )


async def _limit(response: httpx2.Response) -> None:
    # A hook, because a transport of our own would turn the environment's proxies off. What is packed although we asked
    # for it plain is unpacked here: httpx2 would unpack a few bytes to any number before they could be counted.
    packed = response.headers.pop("content-encoding", "identity").lower() in {"gzip", "x-gzip", "deflate"}
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Counted(response.stream, zlib.decompressobj(_GZIP_OR_ZLIB) if packed else None)


class _Counted(httpx2.AsyncByteStream):
    """A body that ends with an error when there is too much of it."""

    def __init__(self, stream: httpx2.AsyncByteStream, packed: "zlib._Decompress | None") -> None:
        self._stream = stream
        self._packed = packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        async for chunk in self._stream:
            plain = self._unpacked(chunk)
            count += len(plain)
            if count > MAX_BYTES:
                raise TooLargeError(f"the answer has more than {MAX_BYTES:,} bytes")
            yield plain

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _unpacked(self, chunk: bytes) -> bytes:
        if self._packed is None:
            return chunk
        try:
            return self._packed.decompress(chunk, MAX_BYTES + 1)
        except zlib.error as error:
            raise httpx2.DecodingError(str(error)) from error
