"""The server of `crmeval view` answers only this machine, and only those who know its token."""

import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from pytest_crmeval import cli
from pytest_crmeval.viewer.server import ViewServer
from tests.fakes import trial
from tests.kept_runs import keep
from tests.viewer import served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ViewServer]:
    """Serve one run."""
    keep(tmp_path, "nightly", [trial("one")])
    with served(tmp_path) as made:
        yield made


def asked(server: ViewServer, path: str, *, method: str = "GET", host: str = "") -> HTTPResponse:
    """Send a request as a browser would, and return the answer with its content read."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
    connection.endheaders()
    answer = connection.getresponse()
    answer.content = answer.read().decode()  # type: ignore[attr-defined]
    connection.close()
    return answer


def test_a_page_has_a_strict_policy_and_is_not_stored(server: ViewServer) -> None:
    answer = asked(server, server.root)

    assert (200, "text/html; charset=utf-8") == (answer.status, answer.headers["Content-Type"])
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert ("no-store", "no-referrer", "nosniff") == tuple(
        answer.headers[name] for name in ("Cache-Control", "Referrer-Policy", "X-Content-Type-Options")
    )


def test_other_names_of_the_machine_are_refused(server: ViewServer) -> None:
    """A page of another site may have its name point at 127.0.0.1; the browser then sends that name."""
    port = server.server_port
    known = (f"127.0.0.1:{port}", f"localhost:{port}")
    other = (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1:{port}.evil.example",
    )

    assert {200} == {asked(server, server.root, host=host).status for host in known}
    assert {403} == {asked(server, server.root, host=host).status for host in other}


def test_nothing_is_answered_without_the_token(server: ViewServer) -> None:
    others = ("/", "/static/page.css", f"/{server.token[:-1]}/", f"/{server.token}x/", f"/{server.token}", "//")
    answers = [asked(server, path) for path in others]

    assert {403} == {answer.status for answer in answers}
    assert not any(server.token in str(vars(answer)) for answer in answers)


def test_no_request_changes_anything(server: ViewServer) -> None:
    assert {501} == {asked(server, server.root, method=method).status for method in ("POST", "PUT", "DELETE", "PATCH")}


def test_the_server_listens_on_loopback_only(server: ViewServer) -> None:
    assert "127.0.0.1" == server.server_address[0]


def test_odd_addresses_are_answered(server: ViewServer) -> None:
    paths = (
        "runs/%00/",
        "runs/%ff%fe/",
        "?all=%00",
        "search?text=%22%27*()%00%ff",
        "trend?" + "x" * 5000,
        "runs/a%2f..%2fb/",
    )
    statuses = [asked(server, f"{server.root}{path}").status for path in paths]

    assert [404, 404, 200, 200, 414, 404] == statuses


def test_the_command_needs_a_folder_and_a_free_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert 2 == cli.main(["view"])
    assert "there is no folder" in capsys.readouterr().err
    (tmp_path / "reports").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert 2 == cli.main(["view", "--port", str(taken.getsockname()[1])])
    assert "choose another one" in capsys.readouterr().err
