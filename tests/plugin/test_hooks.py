"""Hooks on trials, reports and gates: the examples of the page on extending are run."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.projects import case, failing, report_of
from tests.providers.loopback import Loopback

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
ROOT = Path(__file__).parents[2]
HALF = ("--crmeval-agent", "bots:Half")
NO_XDIST = ("-p", "no:xdist")


def example(name: str) -> str:
    """Return the example of the page that contains a word."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    (found,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if name in block]
    return str(found)


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Return the address of a loopback server, and what it receives."""
    sent: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", sent
    server.shutdown()
    thread.join()
    server.server_close()


def test_cost_meter_example(project: Project, providers: Providers) -> None:
    providers()
    pytester = project([case("one"), case("two")])
    pytester.makeconftest(example("class CostMeter"))

    result = pytester.runpytest("--crmeval-agent", "gpt-4.1", "-n", "1")

    result.stdout.fnmatch_lines(["2 trials have cost $*"])
    spent = report_of(pytester.path)["run"]["spent"]
    (shown,) = [line for line in result.outlines if "trials have cost" in line]
    assert f"{spent:.6f}" == shown.rpartition("$")[2]


def test_webhook_example_sends_results_with_gates(
    project: Project, webhook: tuple[str, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report contains the results of the gates."""
    url, sent = webhook
    monkeypatch.setenv("EVALS_WEBHOOK", url)
    pytester = project([case("one"), failing("two")], ini="crmeval_gates = crm.pass_rate >= 0.60")
    pytester.makeconftest(example("EVALS_WEBHOOK"))

    pytester.runpytest(*HALF, *NO_XDIST, "--crmeval-run", "hooked")

    assert [{"run": "hooked", "rates": {"crm × half": 0.5}, "breached": ["crm.pass_rate >= 0.60"]}] == sent


@pytest.mark.parametrize(("most", "status"), [("1", pytest.ExitCode.OK), ("0", pytest.ExitCode.TESTS_FAILED)])
def test_gate_example_decides_about_the_exit_status(
    project: Project, monkeypatch: pytest.MonkeyPatch, most: str, status: pytest.ExitCode
) -> None:
    """It works like a gate of the project: if it holds, failed trials are forgiven; if not, the run fails."""
    monkeypatch.setenv("MOST_FAILED_TOOLS", most)
    pytester = project([case("one"), failing("two")])
    pytester.makeconftest(example("MOST_FAILED_TOOLS"))

    result = pytester.runpytest(*HALF, *NO_XDIST)

    assert status == result.ret
    holds = "holds" if status == pytest.ExitCode.OK else "BREACHED"
    result.stdout.fnmatch_lines([f"gate few tools fail: {holds} (failed at: create_new_client)"])
    report = report_of(pytester.path)
    shown = [(ruling["holds"], ruling["of_plugin"]) for ruling in report["gates"]]
    assert [(status == pytest.ExitCode.OK, True)] == shown
    assert report["run"]["parts"][0]["plugin_gates"]


def test_failing_gate_hook_loses_no_report(project: Project) -> None:
    """The trials are on disk, and the run fails."""
    pytester = project([case("one")])
    pytester.makeconftest("def pytest_crmeval_gate(config, report): raise RuntimeError('no idea')")

    result = pytester.runpytest(*NO_XDIST)

    assert result.ret != pytest.ExitCode.OK
    assert 1 == report_of(pytester.path)["results"][0]["passed"]


def test_gate_hook_must_return_rulings(project: Project) -> None:
    pytester = project([case("one")])
    pytester.makeconftest("def pytest_crmeval_gate(config, report): return True")
    result = pytester.runpytest(*NO_XDIST)

    assert result.ret != pytest.ExitCode.OK
    assert "pytest_crmeval_gate must return rulings or None, not True" in f"{result.stdout}{result.stderr}"
    pytester.makeconftest("def pytest_crmeval_gate(config, report): return None")
    assert pytest.ExitCode.OK == pytester.runpytest(*NO_XDIST).ret
