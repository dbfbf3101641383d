"""Responses are read as h11 reads them, in whatever pieces they come."""

from collections.abc import Iterator, Sequence

import h11
import httpx2
import pytest

from pytest_crmeval.models.sdks.event_loop import MAX_BYTES, TooLargeError
from pytest_crmeval.models.sdks.http1 import ResponseReader

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
VALID = {
    "a length": OK + b"Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{'a':1}",
    "an empty body": OK + b"Content-Length: 0\r\n\r\n",
    "chunks": CHUNKED + b"3\r\nabc\r\n0a;name=value\r\n0123456789\r\n0\r\n\r\n",
    "chunks with a trailer": CHUNKED + b"3\r\nabc\r\n0\r\nx-sum: 1\r\nx-more: 2\r\n\r\n",
    "chunks and a length": OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "until the end": OK + b"X: y\r\n\r\nall that comes",
    "nothing until the end": OK + b"\r\n",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "no reason": b"HTTP/1.1 429\r\nContent-Length: 2\r\n\r\n{}",
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "not modified": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
    "announced": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 On It\r\nA: b\r\n\r\n"
    + OK
    + b"Content-Length: 1\r\n\r\nx",
    "to be closed": OK + b"Connection: Close\r\nContent-Length: 2\r\n\r\n{}",
    "a folded header": OK + b"X-Long: one\r\n  two\r\nContent-Length: 1\r\n\r\nx",
    "bare line feeds": b"HTTP/1.1 200 OK\nContent-Length: 2\nX:  y \n\n{}",
    "a repeated header": OK + b"Set-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n",
    "bytes in a header": OK + b"X: \xe4\xff\r\nContent-Length: 0\r\n\r\n",
}
INVALID = {
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "a request": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "half a status": b"HTTP/1.1 20 OK\r\n\r\n",
    "a header without a name": OK + b": x\r\n\r\n",
    "a header without a colon": OK + b"nothing\r\n\r\n",
    "a space before the colon": OK + b"X : y\r\n\r\n",
    "a zero byte": OK + b"X: \0\r\n\r\n",
    "a length that is none": OK + b"Content-Length: many\r\n\r\n{}",
    "a negative length": OK + b"Content-Length: -1\r\n\r\n{}",
    "two lengths": OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "another encoding": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    "a chunk that is none": CHUNKED + b"many\r\n{}\r\n",
    "a chunk that is too long": CHUNKED + b"1\r\nabc\r\n",
    "headers without end": OK + b"x-more: and more\r\n" * 10_000,
    "a line without end": CHUNKED + b"1;" + b"x" * 200_000,
    "cut within the headers": OK + b"Content-Le",
    "cut within the body": OK + b"Content-Length: 9\r\n\r\nabc",
    "cut within a chunk": CHUNKED + b"9\r\nabc",
    "cut before the last chunk": CHUNKED + b"3\r\nabc\r\n",
    "nothing": b"",
}
PIECES = (1, 7, 1 << 20)
"""Bytes that come at once."""

Read = tuple[int, bytes, Sequence[tuple[bytes, bytes]], bytes]


def pieces(raw: bytes, size: int) -> Iterator[bytes]:
    """Yield a response as it arrives."""
    return (raw[start : start + size] for start in range(0, len(raw), size))


def ours(raw: bytes, size: int) -> Read:
    """Return what we read."""
    reader = ResponseReader()
    if not any(map(reader.feed, pieces(raw, size))):
        reader.end()
    headers = [(name.lower(), value) for name, value in reader.headers.raw]
    return reader.status, reader.reason, headers, reader.content


def theirs(raw: bytes) -> Read:
    """Return what h11 reads."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(raw)
    connection.receive_data(b"")
    status, reason, headers, body = 0, b"", list[tuple[bytes, bytes]](), b""
    while not isinstance(event := connection.next_event(), h11.EndOfMessage):
        match event:
            case h11.Response():
                status, reason, headers = event.status_code, event.reason, list(event.headers)
            case h11.Data():
                body += event.data
            case h11.InformationalResponse():
                pass
            case _:
                raise h11.RemoteProtocolError(f"{event}")
    return status, reason, headers, body


@pytest.mark.parametrize("size", PIECES)
def test_valid_responses_are_read_as_h11_reads_them(size: int) -> None:
    assert {name: theirs(raw) for name, raw in VALID.items()} == {name: ours(raw, size) for name, raw in VALID.items()}


def test_a_length_may_be_repeated() -> None:
    assert b"{}" == ours(OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 1)[3]


@pytest.mark.parametrize("size", PIECES)
def test_invalid_responses_are_refused_as_h11_refuses_them(size: int) -> None:
    for name, raw in INVALID.items():
        with pytest.raises(h11.RemoteProtocolError):
            pytest.fail(f"h11 reads {name}: {theirs(raw)}")
        with pytest.raises(httpx2.RemoteProtocolError):
            pytest.fail(f"we read {name}: {ours(raw, size)}")


def test_a_connection_is_kept_only_after_a_response_with_a_known_end() -> None:
    kept = set()
    for name, raw in VALID.items():
        reader = ResponseReader()
        reader.feed(raw)
        kept |= {name} if reader.keeps_open else set()
    extra = ResponseReader()
    extra.feed(VALID["a length"] + b"HTTP/1.1")

    closed = {"until the end", "nothing until the end", "HTTP/1.0", "to be closed", "chunks and a length"}
    assert VALID.keys() - closed == kept
    assert not extra.keeps_open


@pytest.mark.parametrize("first", [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x", b"HTTP/2.0 200 OK"])
def test_other_protocols_are_refused(first: bytes) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        ResponseReader().feed(first + b"\r\n\r\n")


def test_a_body_that_is_too_large_is_not_read_to_its_end() -> None:
    reader = ResponseReader()
    reader.feed(OK + b"Content-Length: 99999999999\r\n\r\n")
    with pytest.raises(TooLargeError):
        reader.feed(b"x" * (MAX_BYTES + 1))
