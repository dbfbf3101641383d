"""Whatever a server does, a call ends within its deadline with the right cause, and the next one works."""

import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from pytest_crmeval.domain.messages import Reply, user_says
from pytest_crmeval.models.sdks import event_loop
from pytest_crmeval.ports.chat_model import Cause, ModelError
from tests.interruptions import interrupted
from tests.providers.clients import DIALECTS, GENEROUS, KEY, backend_of, bounded, note_deadlines, prompt_of
from tests.providers.loopback import (
    Answer,
    CloseAtOnce,
    CloseMidBody,
    Drip,
    EmptyChoice,
    Hang,
    Huge,
    Loopback,
    Malformed,
    Raw,
    Say,
    Seen,
    Slow,
    Status,
    ThenClose,
)

SHORT = 0.4
LONG = 60.0
every_dialect = pytest.mark.parametrize(
    ("dialect", "connections"),
    [*((dialect, "ours") for dialect in DIALECTS), ("chat", "sdk"), ("anthropic", "sdk")],
    indirect=["connections"],
)


@pytest.fixture(autouse=True)
def connections(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use our connections, or those of the SDK's HTTP library."""
    monkeypatch.setenv("CRMEVAL_HTTP", getattr(request, "param", "ours"))


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Fail a test that leaves a thread, once our event loop is closed."""
    event_loop.close()
    before = set(threading.enumerate())
    yield
    event_loop.close()

    assert before == set(threading.enumerate())


def cause_of(dialect: str, url: str, seconds: float = LONG) -> Cause:
    """Ask once, which must fail."""
    with pytest.raises(ModelError) as caught:
        bounded(lambda: backend_of(dialect, url).attempt(prompt_of([user_says("trouble")]), seconds))
    return caught.value.cause


def reply_of(dialect: str, url: str) -> Reply:
    """Ask once, which must be answered."""
    return bounded(lambda: backend_of(dialect, url).attempt(prompt_of(), LONG)).completion.reply


def only(trouble: Answer) -> Callable[[Seen], Answer]:
    """Return a brain that causes trouble for ``cause_of``, however often it asks, and answers ``reply_of``.

    A call that is given up on a busy machine may not have been seen by the server.
    """
    return lambda seen: trouble if seen.last_user_text == "trouble" else Say("Hi")


def is_left_alone(server: Loopback) -> bool:
    """Whether all clients leave, if they are given time."""
    deadline = time.monotonic() + GENEROUS
    while server.open_connections and time.monotonic() < deadline:
        time.sleep(0.01)
    return not server.open_connections


@every_dialect
@pytest.mark.parametrize(
    "trouble",
    [Hang(), Drip(20), Drip(20, body_only=True), Slow(2, Say("late"))],
    ids=["never answers", "dripping headers", "dripping body", "late"],
)
def test_no_whole_answer_within_the_deadline_is_a_timeout(dialect: str, trouble: Answer) -> None:
    """Bytes that come now and then don't prolong it."""
    with Loopback(only(trouble)) as server:
        cause = cause_of(dialect, server.url, SHORT)
        reply = reply_of(dialect, server.url)

    assert (Cause.TIMEOUT, Reply(text="Hi")) == (cause, reply)


@every_dialect
def test_the_connection_of_a_call_that_was_given_up_is_closed(dialect: str) -> None:
    """The connection of a call that was given up does not stay."""
    with Loopback([Hang()]) as server:
        cause_of(dialect, server.url, SHORT)

        assert is_left_alone(server)


@every_dialect
def test_a_server_that_does_not_even_accept_is_a_timeout(dialect: str) -> None:
    """Its queue is full, and the kernel lets us wait."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as queue:
        for _ in range(4):
            waiting = queue.enter_context(socket.socket())
            waiting.settimeout(0)
            waiting.connect_ex(listener.getsockname())
        cause = cause_of(dialect, f"http://127.0.0.1:{listener.getsockname()[1]}", SHORT)

    assert Cause.TIMEOUT == cause


@every_dialect
@pytest.mark.parametrize("trouble", [CloseAtOnce(), CloseMidBody()], ids=["at once", "mid body"])
def test_broken_connection_is_reported_as_such(dialect: str, trouble: Answer) -> None:
    """With an answer half there, or none."""
    with Loopback([trouble, Say("Hi")]) as server:
        cause = cause_of(dialect, server.url)
        reply = reply_of(dialect, server.url)

    assert (Cause.CONNECTION, Reply(text="Hi")) == (cause, reply)


@every_dialect
def test_refused_connection_is_reported_as_such(dialect: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        cause = cause_of(dialect, f"http://127.0.0.1:{taken.getsockname()[1]}")

    assert Cause.CONNECTION == cause


@every_dialect
@pytest.mark.parametrize("trouble", [ThenClose(Say("Hi")), CloseAtOnce()], ids=["quietly", "when it is used"])
def test_connection_closed_by_the_server_is_replaced(dialect: str, trouble: Answer) -> None:
    """A call before, one that meets the closed connection, and one after."""
    with Loopback([Say("Hi"), trouble, Say("Hi")]) as server:
        backend = backend_of(dialect, server.url)
        texts = []
        for _ in range(4):
            try:
                texts.append(bounded(lambda: backend.attempt(prompt_of(), LONG)).completion.reply.text)
            except ModelError as error:
                texts.append(str(error.cause))
            time.sleep(0.05)

    assert ["Hi", "Hi" if isinstance(trouble, ThenClose) else "connection", "Hi", "Hi"] == texts


NO_HTTP = {
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "bytes": bytes(range(256)) * 8,
    "headers without end": b"HTTP/1.1 200 OK\r\n" + b"x-more: and more\r\n" * 100_000,
    "a length that is none": b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n{}",
    "chunks that are none": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nmany\r\n{}\r\n",
}


@every_dialect
def test_an_answer_that_is_not_http_is_trouble_with_the_connection(dialect: str) -> None:
    """Another program answers at the address; the next call works."""
    with Loopback([*map(Raw, NO_HTTP.values()), Say("Hi")]) as server:
        causes = {name: cause_of(dialect, server.url) for name in NO_HTTP}
        reply = reply_of(dialect, server.url)

    assert (dict.fromkeys(NO_HTTP, Cause.CONNECTION), Reply(text="Hi")) == (causes, reply)


@every_dialect
def test_promises_without_end_don_t_prolong_the_deadline(dialect: str) -> None:
    """A server may say a thousand times that it works on it."""
    with Loopback(only(Raw(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000))) as server:
        cause = cause_of(dialect, server.url, SHORT)
        reply = reply_of(dialect, server.url)

    assert (Cause.TIMEOUT, Reply(text="Hi")) == (cause, reply)


NO_ANSWERS = {
    "half a JSON": b'{"id": "x", "choices": [',
    "nothing": b"",
    "null": b"null",
    "a list": b"[]",
    "a text": b'"choices"',
    "a number": b"5",
    "no fields": b"{}",
    "null fields": b'{"choices": null, "output": null, "content": null}',
    "numbers for lists": b'{"choices": 5, "output": 5, "content": 5}',
    "lists of null": b'{"choices": [null], "output": [null], "content": [null]}',
    "lists of numbers": b'{"choices": [5], "output": [5], "content": [5]}',
    "choices of nothing": b'{"choices": [{}], "output": [{}], "content": [{}]}',
    "not UTF-8": b'{"id": "\xff\xfe"}',
    "too deep": b"[" * 200_000,
    "too long a number": b'{"id": ' + b"9" * 5000 + b"}",
    "an event stream": b"data: {}\n\n",
}


@every_dialect
def test_a_body_that_is_not_an_answer_is_malformed(dialect: str) -> None:
    """The SDKs check little of it; the next call works."""
    with Loopback([*map(Malformed, NO_ANSWERS.values()), Say("Hi")]) as server:
        causes = {name: cause_of(dialect, server.url) for name in NO_ANSWERS}
        reply = reply_of(dialect, server.url)

    assert (dict.fromkeys(NO_ANSWERS, Cause.MALFORMED), Reply(text="Hi")) == (causes, reply)


@every_dialect
def test_a_page_for_people_is_malformed(dialect: str) -> None:
    """As a proxy on the way sends it, with status 200."""
    with Loopback([Malformed(b"<html><body>Please log in.</body></html>", "text/html"), Say("Hi")]) as server:
        cause = cause_of(dialect, server.url)
        reply = reply_of(dialect, server.url)

    assert (Cause.MALFORMED, Reply(text="Hi")) == (cause, reply)


def test_no_choice_is_malformed() -> None:
    """A model with nothing to say makes one all the same."""
    with Loopback([EmptyChoice(), Say("Hi")]) as server:
        cause = cause_of("chat", server.url)
        reply = reply_of("chat", server.url)

    assert (Cause.MALFORMED, Reply(text="Hi")) == (cause, reply)


@every_dialect
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "zipped"])
def test_ten_megabytes_are_too_large_an_answer(dialect: str, zipped: bool) -> None:  # noqa: FBT001 (a parameter)
    """Also if they are few on the wire."""
    with Loopback([Huge(10_000_000, zipped=zipped), Say("Hi")]) as server:
        cause = cause_of(dialect, server.url)
        reply = reply_of(dialect, server.url)

    assert (Cause.TOO_LARGE, Reply(text="Hi")) == (cause, reply)


STATUSES = {
    400: Cause.BAD_REQUEST,
    401: Cause.AUTHENTICATION,
    402: Cause.QUOTA,
    403: Cause.AUTHENTICATION,
    404: Cause.UNKNOWN_MODEL,
    408: Cause.OVERLOADED,
    409: Cause.OVERLOADED,
    413: Cause.BAD_REQUEST,
    422: Cause.BAD_REQUEST,
    429: Cause.RATE_LIMITED,
    500: Cause.OVERLOADED,
    502: Cause.OVERLOADED,
    503: Cause.OVERLOADED,
    504: Cause.OVERLOADED,
    529: Cause.OVERLOADED,
}


@every_dialect
def test_every_status_has_its_cause_and_is_asked_once(dialect: str) -> None:
    """The SDKs' own retries are off."""
    with Loopback([*(Status(code, "not today") for code in STATUSES), Say("Hi")]) as server:
        causes = {code: cause_of(dialect, server.url) for code in STATUSES}
        reply = reply_of(dialect, server.url)

    assert (STATUSES, Reply(text="Hi"), len(STATUSES) + 1) == (causes, reply, len(server.seen))


@every_dialect
def test_an_error_without_words_has_its_cause_too(dialect: str) -> None:
    """A proxy may send any body with it."""
    bodies = [b"<html>Bad gateway</html>", b"", b"null", b'{"error": 5}', b'{"error": null}', b"[]"]
    with Loopback([Status(502, headers={"content-type": "text/html"}, body=body) for body in bodies]) as server:
        causes = {body: cause_of(dialect, server.url) for body in bodies}

    assert dict.fromkeys(bodies, Cause.OVERLOADED) == causes


@every_dialect
def test_the_pause_that_a_server_asks_for_is_known(dialect: str) -> None:
    """Seconds, milliseconds, or nothing that can be read."""
    headers = [{"retry-after": "7"}, {"retry-after-ms": "1500"}, {"retry-after": "soon"}, {}]
    pauses = []
    with Loopback([Status(429, headers=each) for each in headers]) as server:
        for _ in headers:
            with pytest.raises(ModelError) as caught:
                bounded(lambda: backend_of(dialect, server.url).attempt(prompt_of(), LONG))
            pauses.append(caught.value.retry_after)

    assert [7.0, 1.5, None, None] == pauses


@every_dialect
def test_redirect_to_another_host_is_not_followed(dialect: str) -> None:
    """A redirect must not carry the prompt or the key away."""
    codes = [301, 302, 303, 307, 308]
    with Loopback([Say("stolen")]) as other:
        elsewhere = {"location": f"http://localhost:{other.address[1]}/v1/messages"}
        with Loopback([*(Status(code, headers=elsewhere) for code in codes), Say("Hi")]) as server:
            causes = {code: cause_of(dialect, server.url) for code in codes}
            reply = reply_of(dialect, server.url)

    assert ([], dict.fromkeys(codes, Cause.UNKNOWN_MODEL), Reply(text="Hi")) == (other.seen, causes, reply)


@every_dialect
def test_a_redirect_that_leads_back_is_not_followed_for_ever(dialect: str) -> None:
    """Here, it is not followed at all."""
    with Loopback([Status(307, headers={"location": "/v1/messages"})]) as server:
        cause = cause_of(dialect, server.url)

    assert (Cause.UNKNOWN_MODEL, 1) == (cause, len(server.seen))


@every_dialect
def test_a_key_that_the_server_repeats_is_not_in_the_error(dialect: str) -> None:
    """Neither in the message nor in the traceback, with all that led to the error."""
    with (
        Loopback([Status(401, f"Incorrect API key provided: x{KEY}x.")]) as server,
        pytest.raises(ModelError) as caught,
    ):
        bounded(lambda: backend_of(dialect, server.url).attempt(prompt_of(), LONG))

    assert KEY not in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))


@every_dialect
def test_asking_again_without_a_parameter_does_not_prolong_the_deadline(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server refuses the temperature after a while: the second request has so much less time."""
    words = "Unsupported parameter: 'temperature' is not supported with this model."
    refused = Status(400, words, kind="" if dialect == "anthropic" else "unsupported_parameter", param="temperature")
    deadlines = note_deadlines(monkeypatch)
    with Loopback([Say("Hi"), Slow(0.2, refused), Say("Hi")]) as server:
        reply_of(dialect, server.url)
        reply_of(dialect, server.url)

    first, second = deadlines[-2:]
    assert second <= first - 0.2
    assert "temperature" not in server.seen[2].body


@every_dialect
def test_many_calls_that_hang_don_t_hold_each_other_up(dialect: str) -> None:
    """Forty at once end, each by its deadline, and a call among them is answered."""
    with Loopback(lambda seen: Say("Hi") if seen.last_user_text == "hello" else Hang()) as server:
        backend = backend_of(dialect, server.url)
        hanging = prompt_of([user_says("hang")])

        def ask(_: int) -> str:
            try:
                return backend.attempt(hanging, SHORT).completion.reply.text
            except ModelError as error:
                return str(error.cause)

        with ThreadPoolExecutor(40) as pool:
            causes = pool.map(ask, range(40))
            reply = reply_of(dialect, server.url)

    assert Reply(text="Hi") == reply
    assert ["timeout"] * 40 == list(causes)


@every_dialect
def test_ctrl_c_ends_a_call_that_hangs_and_hangs_up(dialect: str) -> None:
    with Loopback([Hang()]) as server:
        backend = backend_of(dialect, server.url)
        with pytest.raises(KeyboardInterrupt), interrupted(lambda: bool(server.seen)):
            backend.attempt(prompt_of(), 10 * GENEROUS)

        assert is_left_alone(server)


@every_dialect
def test_closing_the_event_loop_ends_its_calls(dialect: str) -> None:
    """They are not left to wait for their deadline, and the next call opens another line."""

    def leave(_: Seen) -> Answer:
        if len(server.seen) > 1:
            return Say("Hi")
        threading.Thread(target=event_loop.close).start()
        return Hang()

    with Loopback(leave) as server:
        cause = cause_of(dialect, server.url)
        reply = reply_of(dialect, server.url)

    assert (Cause.CONNECTION, Reply(text="Hi")) == (cause, reply)
