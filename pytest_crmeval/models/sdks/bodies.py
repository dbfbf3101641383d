"""Bodies of answers: limited in size, decompressed, with the time at which each part of a stream came."""

import time
import zlib
from collections.abc import MutableMapping

import httpx2

from pytest_crmeval.models.sdks.event_loop import MAX_BYTES, TooLargeError

EVENT_STREAM = "text/event-stream"
ARRIVALS = "crmeval_arrivals"
"""The extension of a streamed response with the time at which each part came."""
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB = 47
"""Makes zlib detect the format."""


class Body:
    """The body of a response while it arrives.

    A compressed body, although we asked for plain text, is decompressed here: httpx2 would expand it to any size before
    its bytes are counted.
    """

    def __init__(self, headers: MutableMapping[str, str]) -> None:
        """Read what the headers say about the body; the encoding is removed from them."""
        packed = headers.pop("content-encoding", "identity").lower() in _PACKED
        self._packed = zlib.decompressobj(_GZIP_OR_ZLIB) if packed else None
        self._count = 0
        self.is_stream = headers.get("content-type", "").startswith(EVENT_STREAM)
        self.arrivals: list[tuple[int, float]] = []
        """How many bytes of a stream had come, and when."""

    def unpacked(self, chunk: bytes) -> bytes:
        """Return the next part as plain bytes; TooLargeError if the whole has too many."""
        if self._packed is not None:
            try:
                chunk = self._packed.decompress(chunk, MAX_BYTES + 1)
            except zlib.error as error:
                raise httpx2.DecodingError(str(error)) from error
        self._count += len(chunk)
        if self._count > MAX_BYTES:
            raise TooLargeError(f"the answer has more than {MAX_BYTES:,} bytes")
        if self.is_stream:
            self.arrivals.append((self._count, time.monotonic()))
        return chunk
