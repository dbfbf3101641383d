"""Our own connections below the SDKs: TLS, proxies, what is kept open and what is left to the SDKs' HTTP library."""

import asyncio
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from pytest_crmeval.domain.messages import user_says
from pytest_crmeval.models.sdks import event_loop
from pytest_crmeval.models.sdks.direct import DirectTransport
from pytest_crmeval.models.sdks.transport import http_client
from pytest_crmeval.ports.chat_model import Cause, ModelError
from tests.providers.clients import backend_of, prompt_of
from tests.providers.delivery import http
from tests.providers.loopback import Loopback, Say

SECONDS = 60.0
both = pytest.mark.parametrize("connections", ["ours", "sdk"])


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Begin and end without clients."""
    event_loop.close()
    yield
    event_loop.close()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a certificate for 127.0.0.1 and its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "crmeval tests")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = builder.add_extension(address, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    usage = x509.KeyUsage(True, False, False, False, False, True, False, False, False)  # noqa: FBT003 (as it is)
    signed = builder.add_extension(usage, critical=True).sign(key, hashes.SHA256())
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    path: Path = tmp_path_factory.mktemp("tls") / "server.pem"
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(signed.public_bytes(pem) + secret)
    return path


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    """Return the settings of a server with that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@both
def test_calls_over_tls_share_a_connection(
    connections: str, certificate: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRMEVAL_HTTP", connections)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    long = "x" * 300_000  # more than one record of TLS, in both directions
    with Loopback([Say("One."), Say(long), Say("Three.")], tls) as server:
        backend = backend_of("chat", server.url)
        texts = [
            backend.attempt(prompt_of([user_says(text)]), SECONDS).completion.reply.text for text in ("a", long, "c")
        ]

    assert (["One.", long, "Three."], 1) == (texts, server.connections)


@both
def test_a_certificate_that_is_not_trusted_is_refused(
    connections: str, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRMEVAL_HTTP", connections)
    with Loopback([Say("Hi")], tls) as server, pytest.raises(ModelError) as caught:
        backend_of("chat", server.url).attempt(prompt_of(), SECONDS)

    assert (Cause.UNREACHABLE, 0) == (caught.value.cause, len(server.seen))
    assert "certificate verify failed" in str(caught.value)
    assert "SSL_CERT_FILE can name your certificate authorities" in str(caught.value)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "all_proxy"])
def test_a_proxy_of_the_environment_is_used(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the SDKs' own HTTP library, which knows all kinds of proxies."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        seen = answer_once(proxy, http(404, b'{"error": {"message": "asked the proxy"}}'))
        with pytest.raises(ModelError, match="asked the proxy"):
            backend_of("chat", "http://model.example").attempt(prompt_of(), SECONDS)

    assert seen[0].startswith(b"POST http://model.example/v1/chat/completions HTTP/1.1")


def test_an_answer_before_a_long_request_was_read_is_not_lost() -> None:
    """The server answers at once, and closes the connection without reading the rest."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        answer_once(server, http(413, b'{"error": {"message": "too long for me"}}', {"connection": "close"}))
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ModelError, match="too long for me") as caught:
            backend_of("chat", url).attempt(prompt_of([user_says("x" * 20_000_000)]), SECONDS)

    assert (Cause.BAD_REQUEST, True) == (caught.value.cause, caught.value.too_long)


def answer_once(server: socket.socket, answer: bytes) -> list[bytes]:
    """Answer the first request as soon as its beginning has come; return the list to which that is added."""
    seen: list[bytes] = []

    def talk() -> None:
        connection, _ = server.accept()
        with connection:
            seen.append(connection.recv(1 << 16))
            connection.sendall(answer)

    threading.Thread(target=talk, daemon=True).start()
    return seen


def post(url: str) -> httpx2.Request:
    """Return a request as an SDK makes it."""
    client = httpx2.AsyncClient(timeout=None)
    return client.build_request("POST", f"{url}/nothing", json={"model": "m", "messages": []})


def asked(limits: httpx2.Limits, *rounds: int) -> int:
    """Make so many calls at the same time, one round after the other; return how many connections were made."""

    async def ask(url: str) -> None:
        transport = DirectTransport(ssl.create_default_context(), limits)
        for together in rounds:
            answers = await asyncio.gather(*(transport.handle_async_request(post(url)) for _ in range(together)))
            assert {404} == {answer.status_code for answer in answers}
        await transport.aclose()

    with Loopback([Say("Hi")]) as server:
        asyncio.run(ask(server.url))
        return server.connections


def test_connections_are_limited_kept_and_closed_when_they_are_idle_for_too_long() -> None:
    found = {
        "one at a time": asked(httpx2.Limits(max_connections=1, keepalive_expiry=SECONDS), 3, 2),
        "kept": asked(httpx2.Limits(max_connections=9, keepalive_expiry=SECONDS), 3, 2, 3),
        "idle for too long": asked(httpx2.Limits(max_connections=9, keepalive_expiry=0.0), 1, 1),
    }

    assert {"one at a time": 1, "kept": 3, "idle for too long": 2} == found


def test_an_unusual_request_is_left_to_the_library() -> None:
    """A body that is a stream, a time limit of its own, another method."""

    async def parts() -> object:
        yield b'{"model": '
        yield b'"m", "messages": []}'

    async def ask(url: str) -> list[int]:
        async with http_client() as client:
            length = {"content-length": "30"}
            answers = [
                await client.post(f"{url}/nothing", content=parts(), headers=length),  # type: ignore[arg-type]
                await client.post(f"{url}/nothing", json={}, timeout=SECONDS),
                await client.request("DELETE", f"{url}/nothing"),
            ]
        return [answer.status_code for answer in answers]

    with Loopback([Say("Hi")]) as server:
        assert [404, 404, 404] == asyncio.run(ask(server.url))


def test_a_header_can_not_smuggle_another() -> None:
    """An organisation or project in the environment may contain anything."""

    async def ask() -> None:
        async with http_client() as client:
            await client.post("http://127.0.0.1:9/v1", headers={"x": "a\r\nb: c"}, content=b"")

    with pytest.raises(httpx2.LocalProtocolError, match="header"):
        asyncio.run(ask())
