"""The server of `crmeval view` answers only this machine, and only those who know its token."""

import json
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


def test_requests_without_the_token_are_refused(server: ViewServer) -> None:
    others = ("/", "/static/page.css", f"/{server.token[:-1]}/", f"/{server.token}x/", f"/{server.token}", "//")
    answers = [asked(server, path) for path in others]

    assert {403} == {answer.status for answer in answers}
    assert not any(server.token in str(vars(answer)) for answer in answers)


def test_no_other_request_changes_anything(server: ViewServer) -> None:
    assert {501} == {asked(server, server.root, method=method).status for method in ("PUT", "DELETE", "PATCH")}


def sent(server: ViewServer, body: object = None, path: str = "", **changed: str | None) -> tuple[int, str]:
    """Send an annotation as the page does, with changed headers; a header that is None is left out."""
    given = {"suite": "crm", "subject": "oracle", "case": "one", "trial": 1, "verdict": "passed", "opinion": "agree"}
    content = body if isinstance(body, bytes) else json.dumps(given | (body if isinstance(body, dict) else {})).encode()
    own = f"http://127.0.0.1:{server.server_port}"
    usual = {"Origin": own, "Content-Type": "application/json", "Content-Length": str(len(content))}
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.putrequest("POST", path or f"{server.root}runs/nightly/annotations")
    for name, value in {**usual, **{name.replace("_", "-"): value for name, value in changed.items()}}.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(content)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_an_annotation_is_stored_with_its_person_and_verdict(server: ViewServer, tmp_path: Path) -> None:
    status, text = sent(server, {"note": "It is <b>right</b>; key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"})
    (stored,) = (tmp_path / "nightly/annotations.jsonl").read_text().splitlines()
    record = json.loads(stored)

    assert 200 == status, text
    assert ("crmeval.annotation/1", "agree", "passed", "one") == tuple(
        record[name] for name in ("schema", "opinion", "verdict", "case")
    )
    assert "It is <b>right</b>; key [redacted]" == record["note"]
    assert [record["person"]] == [each["person"] for each in json.loads(text)]


def test_only_pages_of_this_server_may_write(server: ViewServer, tmp_path: Path) -> None:
    """A page of another site can send requests to this machine, but not with our origin, and without the token."""
    port = server.server_port
    origins = (None, "null", "http://evil.example", f"http://localhost:{port}", f"https://127.0.0.1:{port}")
    refused = {sent(server, Origin=origin)[0] for origin in origins}
    wrong_token = sent(server, path="/wrong/runs/nightly/annotations")[0]

    assert ({403}, 403) == (refused, wrong_token)
    assert 403 == sent(server, Sec_Fetch_Site="cross-site")[0]
    assert 415 == sent(server, Content_Type="text/plain")[0]
    assert 413 == sent(server, Content_Length=str(10**9))[0]
    assert 413 == sent(server, Content_Length=None)[0]
    assert not (tmp_path / "nightly/annotations.jsonl").exists()


def test_annotations_that_make_no_sense_are_refused(server: ViewServer, tmp_path: Path) -> None:
    wrong = ({"case": "two"}, {"verdict": "failed"}, {"opinion": "perhaps"}, b"[]", b"not JSON", b"{}")
    statuses = [sent(server, body)[0] for body in wrong]
    other = sent(server, path=f"{server.root}runs/other/annotations")[0]

    assert ([404, 400, 400, 400, 400, 404], 404) == (statuses, other)
    assert not (tmp_path / "nightly/annotations.jsonl").exists()


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
