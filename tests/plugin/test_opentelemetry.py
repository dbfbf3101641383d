"""Traces and metrics, as a real OTLP receiver on loopback gets them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.plugin.conftest import CANARY
from tests.projects import case
from tests.providers.loopback import Loopback

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]


class Receiver(ThreadingHTTPServer):
    """Keeps the spans and metrics that it gets."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[Any] = []
        self.resources: list[Any] = []
        self.metrics: dict[str, Any] = {}


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        """Accept one export."""
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(content).resource_spans:
                self.server.resources.append(attributes(resource.resource))
                self.server.spans += [span for scope in resource.scope_spans for span in scope.spans]
        else:
            for resource in ExportMetricsServiceRequest.FromString(content).resource_metrics:
                self.server.metrics |= {each.name: each for scope in resource.scope_metrics for each in scope.metrics}
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 (its signature)
        """Log nothing."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver."""
    with Receiver() as server:
        thread = Thread(target=server.serve_forever, args=[0.05], daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """Return a receiver that the usual variable names."""
    with receiving() as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        yield server


def attributes(holder: Any) -> dict[str, Any]:  # noqa: ANN401 (a message of protobuf)
    """Return the attributes of a span, an event or a resource."""
    found = {}
    for each in holder.attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        found[each.key] = [item.string_value for item in value.values] if kind == "array_value" else value
    return found


def test_a_trial_is_a_trace_of_turns_model_calls_and_tools(
    project: Project, providers: Providers, receiver: Receiver
) -> None:
    """From a worker: with tokens, cost and times, and without anything that was said."""
    providers()

    result = project([case("one")], ini="crmeval_otel = on").runpytest(
        "--crmeval-agent=openai:gpt-4.1?price=2/8", "-n", "1"
    )

    result.assert_outcomes(passed=1)
    spans = {span.span_id: span for span in receiver.spans}
    (root,) = (span for span in receiver.spans if not span.parent_span_id)
    about, judged = attributes(root), (attributes(event) for event in root.events)
    tree = {(spans[span.parent_span_id].name, span.name) for span in receiver.spans if span.parent_span_id}
    tool = next(span for span in receiver.spans if span.name.startswith("execute_tool"))
    model = next(span for span in receiver.spans if span.name == "chat gpt-4.1")

    assert root.name.startswith("invoke_agent openai:gpt-4.1")
    assert root.start_time_unix_nano <= min(span.start_time_unix_nano for span in receiver.spans)
    assert {(root.name, "turn"), ("turn", "chat gpt-4.1"), ("turn", tool.name)} == tree
    assert 1 == len({span.trace_id for span in receiver.spans})
    assert ["crm", "one", "passed"] == [about[f"crmeval.{name}"] for name in ("suite", "case", "verdict")]
    assert {"state", "calls", "reply"} == {each["gen_ai.evaluation.name"] for each in judged}
    about = attributes(model)
    assert ["chat", "openai", "gpt-4.1"] == [
        about[f"gen_ai.{name}"] for name in ("operation.name", "provider.name", "request.model")
    ]
    assert "agent" == about["crmeval.role"]
    assert about["gen_ai.usage.input_tokens"] > 0
    assert about["crmeval.cost"] > 0
    assert about["gen_ai.response.finish_reasons"] in (["tool_calls"], ["stop"])
    assert model.start_time_unix_nano < model.end_time_unix_nano <= root.end_time_unix_nano
    assert "ada@ada.example" not in str(receiver.spans)
    assert {"crmeval"} == {found["service.name"] for found in receiver.resources}
    assert {"crmeval.trials", "crmeval.cost", "crmeval.trial.duration", "gen_ai.client.token.usage"} <= set(
        receiver.metrics
    )
    (counted,) = receiver.metrics["crmeval.trials"].sum.data_points
    assert 1 == counted.as_int


def test_metrics_of_a_worker_are_sent_before_xdist_ends_it(project: Project, receiver: Receiver) -> None:
    """Other plugins may need the seconds that xdist gives a worker after its session."""
    pytester = project([case("one")], ini="crmeval_otel = on")
    pytester.makepyfile(
        abrupt="""
        import os
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_unconfigure(config):
            if hasattr(config, "workerinput"):
                os._exit(0)
        """
    )

    pytester.runpytest("--crmeval-agent=bots:Half", "-n", "1", "-p", "abrupt")

    assert "crmeval.trials" in receiver.metrics
    assert [1] == [span.name.startswith("invoke_agent") for span in receiver.spans if not span.parent_span_id]


def test_content_is_sent_only_if_it_is_asked_for_and_redacted(
    project: Project, providers: Providers, receiver: Receiver
) -> None:
    """What the user said includes a key here."""
    providers()
    said = case("one")
    said["turns"][0]["user_utterance"] += f" My key is {CANARY}."

    project([said], ini="crmeval_otel = content").runpytest("--crmeval-agent=openai:gpt-4.1", "-p", "no:xdist")

    sent = str(receiver.spans)
    assert "ada@ada.example" in sent
    assert "gen_ai.tool.call.arguments" in sent
    assert "[redacted]" in sent
    assert CANARY not in sent


def test_reason_of_an_errored_trial_is_content(project: Project, receiver: Receiver) -> None:
    """It may quote what was said, for example by a simulated user."""
    pytester = project([case("one")])
    for setting in ("on", "content"):
        pytester.runpytest("--crmeval-agent=bots:Broken", "--crmeval-set", f"otel={setting}", "-p", "no:xdist")

    without, with_content = (span.status.message for span in receiver.spans if not span.parent_span_id)
    assert "" == without
    assert "no route to model" in with_content


def test_nothing_is_sent_and_imported_without_the_setting(
    project: Project, providers: Providers, receiver: Receiver
) -> None:
    """Even if the variables of OpenTelemetry are set; a wrong value is refused."""
    providers()
    pytester = project([case("one")])
    loaded = "from opentelemetry import sdk" if "opentelemetry.sdk" in sys.modules else ""

    pytester.runpytest("--crmeval-agent=openai:gpt-4.1", "-p", "no:xdist").assert_outcomes(passed=1)
    wrong = pytester.runpytest("--crmeval-set", "otel=yes")

    assert ([], {}) == (receiver.spans, receiver.metrics)
    assert bool(loaded) == ("opentelemetry.sdk" in sys.modules)
    wrong.stderr.fnmatch_lines(["*otel=yes: must be one of off, on, content*"])


def test_a_missing_package_and_an_unknown_exporter_are_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester = project([case("one")])
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    unknown = pytester.runpytest("--crmeval-agent=bots:Half", "--crmeval-set", "otel=on", "-p", "no:xdist")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    missing = pytester.runpytest("--crmeval-set", "otel=on")

    assert "OTEL_TRACES_EXPORTER=zipkin: use otlp, console or none" in f"{unknown.stdout}{unknown.stderr}"
    missing.stderr.fnmatch_lines(["*otel=on: needs the OpenTelemetry SDK: pip install pytest-crmeval?otel?*"])
