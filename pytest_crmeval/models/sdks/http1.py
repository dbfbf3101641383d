"""Reads the responses of HTTP/1.1: bytes go in, one whole response comes out."""

import re
from collections.abc import Callable

import httpx2

from pytest_crmeval.domain.cutting import cut, cut_bytes
from pytest_crmeval.models.sdks.bodies import Body

_LONGEST_HEAD = 100 * 1024
"""Bytes of status line and headers, of a chunk's first line, and of trailers."""
_LONGEST_SHOWN = 100
"""Characters of an invalid line that the error quotes."""
_BEGINNING = b"HTTP/1."
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/(1\.\d) (\d{3})(?: ([^\0]*))?")
_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_FOLDED = re.compile(rb"[ \t]*\r?\n[ \t]+")
_LENGTH = re.compile(rb"\d{1,20}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,20})[ \t]*(?:;.*)?")
_FIRST_FINAL, _SWITCHING, _NO_CONTENT, _NOT_MODIFIED = 200, 101, 204, 304


class ResponseReader:
    """Reads one response to a GET or POST; httpx2.RemoteProtocolError if it is not valid HTTP."""

    def __init__(self) -> None:
        self.status = 0
        """0 until the headers are complete."""
        self.reason = b""
        self.headers = httpx2.Headers()
        self.body = Body(self.headers)
        self.keeps_open = False
        """Whether the connection can be used for another request."""
        self._version = b""
        self._buffer = bytearray()
        self._searched = 0
        """How much of the buffer does not contain the end of the headers."""
        self._left = 0
        """Bytes of the body or chunk that are still to come."""
        self._trailing = 0
        self._parts: list[bytes] = []
        self._complete = False
        self._step: Callable[[], bool] = self._read_head

    @property
    def content(self) -> bytes:
        """The plain bytes of the body."""
        return b"".join(self._parts)

    def feed(self, data: bytes) -> bool:
        """Read what has arrived; return whether the response is complete."""
        self._buffer += data
        while not self._complete and self._step():
            pass
        if self._complete and self._buffer:  # nothing was asked that this could answer
            self.keeps_open = False
        return self._complete

    def end(self) -> None:
        """Accept that no more comes; RemoteProtocolError, unless the body lasts until the end of the connection."""
        if self._step == self._read_until_end:
            return
        if self.status:
            raise _broken("peer closed connection without sending complete message body")
        raise _broken("Server disconnected without sending a response.")

    def _read_head(self) -> bool:
        """Return whether there may be more to read, as all steps do."""
        if self._buffer[: len(_BEGINNING)] != _BEGINNING[: len(self._buffer)]:
            raise _broken(f"illegal status line: {_shown(bytes(self._buffer))}")
        found = _END_OF_HEAD.search(self._buffer, max(0, self._searched - 2))
        if (len(self._buffer) if found is None else found.end()) > _LONGEST_HEAD:
            raise _broken("the headers are too long")
        if found is None:
            self._searched = len(self._buffer)
            return False
        first, *lines = _FOLDED.sub(b" ", self._buffer[: found.start()]).split(b"\n")
        del self._buffer[: found.end()]
        self._searched = 0
        status_line = _STATUS_LINE.fullmatch(first.rstrip(b"\r"))
        if status_line is None:
            raise _broken(f"illegal status line: {_shown(bytes(first))}")
        self._version, status = bytes(status_line[1]), int(status_line[2])
        if status == _SWITCHING:
            raise _broken("the server switches to another protocol")
        if status >= _FIRST_FINAL:  # others announce the response
            self.status, self.reason = status, bytes(status_line[3] or b"")
            self.headers = httpx2.Headers([_header(bytes(line.rstrip(b"\r"))) for line in lines])
            self._begin_body()
        return True

    def _begin_body(self) -> None:
        connection = self.headers.get("connection", "").lower()
        self.keeps_open = self._version == b"1.1" and "close" not in connection
        self.body = Body(self.headers)
        transfer, lengths = self.headers.get("transfer-encoding"), set(self._lengths())
        if self.status in {_NO_CONTENT, _NOT_MODIFIED}:
            self._complete = True
        elif transfer is not None:
            if transfer.lower() != "chunked":
                raise _broken(f"unknown transfer encoding: {cut(transfer, _LONGEST_SHOWN)!r}")
            self.keeps_open &= not lengths
            self._step = self._read_chunk_head
        elif lengths:
            length = lengths.pop()
            if lengths or not _LENGTH.fullmatch(length):
                raise _broken("illegal content-length")
            self._left = int(length)
            self._complete = not self._left
            self._step = self._read_sized
        else:
            self.keeps_open = False
            self._step = self._read_until_end

    def _lengths(self) -> list[bytes]:
        given = self.headers.get("content-length")
        return [] if given is None else [length.strip().encode() for length in given.split(",")]

    def _read_sized(self) -> bool:
        self._take(self._left)
        self._complete = not self._left
        return False

    def _read_until_end(self) -> bool:
        self._left = len(self._buffer)
        self._take(self._left)
        return False

    def _read_chunk_head(self) -> bool:
        line = self._line()
        if line is None:
            return False
        found = _CHUNK.fullmatch(line)
        if found is None:
            raise _broken(f"illegal chunk header: {_shown(line)}")
        self._left = int(found[1], 16)
        self._step = self._read_chunk if self._left else self._read_trailer
        return True

    def _read_chunk(self) -> bool:
        self._take(self._left)
        if self._left:
            return False
        self._step = self._read_chunk_end
        return True

    def _read_chunk_end(self) -> bool:
        line = self._line()
        if line:
            raise _broken("a chunk is longer than its header says")
        self._step = self._step if line is None else self._read_chunk_head
        return line is not None

    def _read_trailer(self) -> bool:
        line = self._line()
        if line is None:
            return False
        self._trailing += len(line)
        if self._trailing > _LONGEST_HEAD:
            raise _broken("the trailers are too long")
        self._complete = not line
        return True

    def _line(self) -> bytes | None:
        """Remove a line from the buffer; None if it has not arrived as a whole."""
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > _LONGEST_HEAD:
                raise _broken("a line is too long")
            return None
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        del self._buffer[: end + 1]
        return line

    def _take(self, most: int) -> None:
        """Move at most so many bytes from the buffer to the body."""
        part = bytes(self._buffer[:most])
        del self._buffer[: len(part)]
        self._left -= len(part)
        if part:
            self._parts.append(self.body.unpacked(part))


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.fullmatch(name) or b"\0" in value or b"\r" in value:
        raise _broken(f"illegal header line: {_shown(line)}")
    return name, value.strip(b" \t")


def _shown(line: bytes) -> str:
    return repr(cut_bytes(line, _LONGEST_SHOWN))


def _broken(why: str) -> httpx2.RemoteProtocolError:
    return httpx2.RemoteProtocolError(why)
