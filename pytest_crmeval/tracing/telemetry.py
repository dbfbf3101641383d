"""Sends a trace per trial and the metrics of a process, wherever the usual ``OTEL_*`` variables say."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.wire import encoded, written
from pytest_crmeval.ports.chat_model import ModelCall

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

SCOPE = "pytest_crmeval"
SECOND = 1_000_000_000
PATIENCE = 10_000
"""Milliseconds that sending the rest may take at the end of a process."""
PROTOCOLS = {"http/protobuf": "http", "grpc": "grpc"}
_FINISHED = {"said": "stop", "calls": "tool_calls", "length": "length"}
_OPEN: list["Exporters"] = []


class TelemetryError(Exception):
    """The exporter can't be made as the environment names it; the message says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCall:
    """A call of a model during a trial."""

    call: ModelCall
    role: str
    ended: int
    """Nanoseconds since 1970."""
    cost: float | None

    @property
    def began(self) -> int:
        """When it began, in nanoseconds since 1970."""
        return self.ended - round(self.call.seconds * SECOND)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedTrial:
    """A trial with everything that its trace needs."""

    trial: Trial
    messages: Sequence[Message]
    times: Sequence[int]
    """When each message was said, in nanoseconds since 1970."""
    calls: Sequence[TracedCall]
    confidential: bool


class Exporters:
    """The exporters of one process; thread-safe."""

    def __init__(self, *, run: str, worker: str, redactor: Redactor, content: bool) -> None:
        from opentelemetry.sdk.resources import Resource

        named = {"service.name": os.environ.get("OTEL_SERVICE_NAME", "crmeval")}
        resource = Resource.create({**named, "crmeval.run": run, "crmeval.worker": worker})
        self._redactor = redactor
        self._content = content
        self._traces = _traces(resource)
        self._metrics = _metrics(resource)
        self._tracer = self._traces.get_tracer(SCOPE)
        meter = self._metrics.get_meter(SCOPE)
        self._trials = meter.create_counter("crmeval.trials", unit="{trial}", description="Trials by verdict")
        self._cost = meter.create_counter("crmeval.cost", unit="USD", description="Cost of model calls")
        self._seconds = meter.create_histogram("crmeval.trial.duration", unit="s", description="Duration of trials")
        self._calls = meter.create_histogram("gen_ai.client.operation.duration", unit="s", description="Model calls")
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", unit="{token}", description="Tokens")
        self._lock = Lock()
        _OPEN.append(self)

    def record(self, traced: TracedTrial) -> None:
        """Send the spans of a trial that has ended, and count it."""
        with self._lock:
            self._trace(traced)
            self._count(traced)

    def close(self) -> None:
        """Send what is left."""
        self._traces.force_flush(PATIENCE)
        self._traces.shutdown()
        self._metrics.shutdown(PATIENCE)

    def _trace(self, traced: TracedTrial) -> None:
        from opentelemetry.trace import Status, StatusCode, set_span_in_context

        trial, now = traced.trial, time.time_ns()
        began = min(
            [now - round(trial.whole_seconds * SECOND), *traced.times[:1], *(call.began for call in traced.calls)]
        )
        span = self._tracer.start_span(
            f"invoke_agent {trial.planned.subject}", start_time=began, attributes=self._about(traced)
        )
        for score in trial.scores:
            about: dict[str, Any] = {
                "gen_ai.evaluation.name": score.name,
                "gen_ai.evaluation.score.value": score.value,
                "gen_ai.evaluation.score.label": "pass" if score.passed else "fail",
            }
            if self._shows(traced):
                about["gen_ai.evaluation.explanation"] = self._redactor.text(score.reason)
            span.add_event("gen_ai.evaluation.result", about, timestamp=now)
        if trial.verdict is Verdict.ERRORED:
            span.set_status(Status(StatusCode.ERROR, self._redactor.text(trial.reason) if self._shows(traced) else ""))
        inside = set_span_in_context(span)
        turns = list(self._turns(traced, inside))
        for call in traced.calls:
            parent = next((context for start, end, context in turns if start <= call.ended <= end), inside)
            self._model_span(call, parent, content=self._shows(traced))
        span.end(now)

    def _shows(self, traced: TracedTrial) -> bool:
        return self._content and not traced.confidential

    def _about(self, traced: TracedTrial) -> dict[str, Any]:
        trial, planned = traced.trial, traced.trial.planned
        bill = trial.bill
        return _known(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": planned.subject,
                "gen_ai.usage.input_tokens": bill.usage.input if bill else None,
                "gen_ai.usage.output_tokens": bill.usage.output if bill else None,
                "crmeval.suite": planned.suite,
                "crmeval.case": planned.case,
                "crmeval.trial": planned.trial,
                "crmeval.verdict": str(trial.verdict),
                "crmeval.cost": bill.cost if bill else None,
            }
        )

    def _turns(self, traced: TracedTrial, inside: "Context") -> Iterator[tuple[int, int, "Context"]]:
        """Send a span per turn with its tool calls; yields start and end of each."""
        from opentelemetry.trace import set_span_in_context

        starts = [n for n, message in enumerate(traced.messages) if message.speaker == "user"]
        for number, (start, after) in enumerate(zip(starts, [*starts[1:], len(traced.messages)], strict=True), start=1):
            began, ended = traced.times[start], traced.times[after - 1]
            span = self._tracer.start_span(
                "turn", context=inside, start_time=began, attributes={"crmeval.turn": number}
            )
            context = set_span_in_context(span)
            self._tool_spans(traced, range(start, after), context)
            span.end(ended)
            yield began, ended, context

    def _tool_spans(self, traced: TracedTrial, places: range, context: "Context") -> None:
        """Send a span per tool call; calls that were made in one step share its time."""
        for place in places[1:]:
            asked, answered = traced.messages[place - 1], traced.messages[place]
            for call, result in zip(asked.calls, answered.results, strict=False):
                about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.tool}
                if result.error:
                    about["error.type"] = result.error.kind
                if self._shows(traced):
                    about["gen_ai.tool.call.arguments"] = self._json(call.arguments)
                    said = result.error.message if result.error else result.value
                    about["gen_ai.tool.call.result"] = self._json(said)
                span = self._tracer.start_span(
                    f"execute_tool {call.tool}", context=context, start_time=traced.times[place - 1], attributes=about
                )
                span.end(traced.times[place])

    def _model_span(self, traced: TracedCall, context: "Context", *, content: bool) -> None:
        from opentelemetry.trace import SpanKind

        call = traced.call
        about = {**_model(call), **_used(traced), "crmeval.role": traced.role}
        if content:
            about["gen_ai.input.messages"] = self._json([written(message) for message in call.prompt.messages])
            about["gen_ai.output.messages"] = self._json({"text": call.completion.reply.text})
        span = self._tracer.start_span(
            f"chat {call.identity.model}",
            context=context,
            kind=SpanKind.CLIENT,
            start_time=traced.began,
            attributes=about,
        )
        span.end(traced.ended)

    def _json(self, value: Json) -> str:
        return encoded(self._redactor.json(value)).decode()

    def _count(self, traced: TracedTrial) -> None:
        planned = traced.trial.planned
        labels = {"crmeval.suite": planned.suite, "crmeval.subject": planned.subject}
        judged = {**labels, "crmeval.verdict": str(traced.trial.verdict)}
        self._trials.add(1, judged)
        self._seconds.record(traced.trial.seconds, judged)
        for each in traced.calls:
            model, usage = {**labels, **_model(each.call, only_names=True)}, each.call.completion.usage
            self._calls.record(each.call.seconds, model)
            self._tokens.record(usage.input, {**model, "gen_ai.token.type": "input"})
            self._tokens.record(usage.output, {**model, "gen_ai.token.type": "output"})
            if each.cost:
                self._cost.add(each.cost, {**labels, "crmeval.role": each.role})


def close() -> None:
    """Send what the processes' exporters have not sent yet."""
    while _OPEN:
        _OPEN.pop().close()


def _model(call: ModelCall, *, only_names: bool = False) -> dict[str, Any]:
    identity = call.identity
    names = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": identity.provider,
        "gen_ai.request.model": identity.model,
    }
    settings = {
        "gen_ai.request.temperature": identity.settings.get("temperature"),
        "gen_ai.request.max_tokens": identity.settings.get("max_output_tokens"),
    }
    return names if only_names else _known({**names, **settings})


def _used(traced: TracedCall) -> dict[str, Any]:
    usage, ending = traced.call.completion.usage, traced.call.completion.ending
    return _known(
        {
            "gen_ai.usage.input_tokens": usage.input,
            "gen_ai.usage.output_tokens": usage.output,
            "gen_ai.usage.cache_read.input_tokens": usage.cached or None,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_written or None,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning or None,
            "gen_ai.response.finish_reasons": [_FINISHED.get(ending, ending)],
            "crmeval.retries": usage.retries or None,
            "crmeval.cost": traced.cost,
        }
    )


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _traces(resource: Any) -> "TracerProvider":  # noqa: ANN401 (a resource)
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    made = {"console": ConsoleSpanExporter, "otlp": lambda: _exporter("trace_exporter", "OTLPSpanExporter", "TRACES")}
    if (kind := _kind("TRACES")) != "none":
        provider.add_span_processor(BatchSpanProcessor(made[kind]()))
    return provider


def _metrics(resource: Any) -> "MeterProvider":  # noqa: ANN401 (a resource)
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader

    made = {
        "console": ConsoleMetricExporter,
        "otlp": lambda: _exporter("metric_exporter", "OTLPMetricExporter", "METRICS"),
    }
    kind = _kind("METRICS")
    readers = [] if kind == "none" else [PeriodicExportingMetricReader(made[kind]())]
    return MeterProvider(metric_readers=readers, resource=resource, shutdown_on_exit=False)


def _kind(signal: str) -> str:
    name = f"OTEL_{signal}_EXPORTER"
    kind = os.environ.get(name) or "otlp"
    if kind not in {"otlp", "console", "none"}:
        raise TelemetryError(f"{name}={kind}: use otlp, console or none")
    return kind


def _exporter(module: str, name: str, signal: str) -> Any:  # noqa: ANN401 (one of two classes)
    """Return the OTLP exporter of a signal; it reads address and headers from the environment itself."""
    chosen = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = chosen or "http/protobuf"
    try:
        found = import_module(f"opentelemetry.exporter.otlp.proto.{PROTOCOLS[protocol]}.{module}")
    except KeyError:
        raise TelemetryError(f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}: use {' or '.join(PROTOCOLS)}") from None
    except ImportError as error:
        raise TelemetryError(f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}: {error}; install its exporter") from error
    return getattr(found, name)()
