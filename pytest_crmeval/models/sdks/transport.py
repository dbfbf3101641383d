"""The HTTP client of the SDKs; imported only with an SDK, because httpx2 is slow to load."""

import time
import zlib
from collections.abc import AsyncIterator

import httpx2

from pytest_crmeval.models.sdks.event_loop import MAX_BYTES, TooLargeError

CONNECTIONS = 200
_GZIP_OR_ZLIB = 47
"""Makes zlib detect the format."""
EVENT_STREAM = "text/event-stream"
ARRIVALS = "crmeval_arrivals"
"""The extension of a streamed response with the time at which each part came."""
IDLE_SECONDS = 30.0
"""How long an idle connection is kept open."""


def http_client() -> httpx2.AsyncClient:
    """Return a client for many concurrent calls: it reads at most MAX_BYTES, and follows no redirects with the key.

    Deadlines are kept by the caller. Proxies and certificates of the environment are used, as in the SDKs.
    """
    return httpx2.AsyncClient(
        timeout=None,
        follow_redirects=False,
        limits=httpx2.Limits(
            max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS, keepalive_expiry=IDLE_SECONDS
        ),
        headers={"accept-encoding": "identity"},  # replies are small: decompression takes longer than it saves
        event_hooks={"response": [_limit]},
    )


async def _limit(response: httpx2.Response) -> None:
    # A hook, because a custom transport would disable the proxies of the environment. If a body is compressed although
    # we asked for plain text, it is decompressed here: httpx2 would expand it to any size before its bytes are counted.
    packed = response.headers.pop("content-encoding", "identity").lower() in {"gzip", "x-gzip", "deflate"}
    if isinstance(response.stream, httpx2.AsyncByteStream):
        arrivals: list[tuple[int, float]] = []
        if response.headers.get("content-type", "").startswith(EVENT_STREAM):
            response.extensions[ARRIVALS] = arrivals
        response.stream = _Counted(response.stream, zlib.decompressobj(_GZIP_OR_ZLIB) if packed else None, arrivals)


class _Counted(httpx2.AsyncByteStream):
    """A body that ends with an error when it is too large."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, packed: "zlib._Decompress | None", arrivals: list[tuple[int, float]]
    ) -> None:
        self._stream = stream
        self._packed = packed
        self._arrivals = arrivals
        """How many bytes had come, and when."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        async for chunk in self._stream:
            plain = self._unpacked(chunk)
            count += len(plain)
            if count > MAX_BYTES:
                raise TooLargeError(f"the answer has more than {MAX_BYTES:,} bytes")
            self._arrivals.append((count, time.monotonic()))
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
