"""Sends what a trial did to OpenTelemetry, if the run asks for it."""

from collections.abc import Sequence

from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.models.usage_meter import UsageMeter
from pytest_crmeval.player.context import Context, SetupError
from pytest_crmeval.tracing.clocked import ClockedMessages
from pytest_crmeval.tracing.telemetry import Exporters, TelemetryError, TracedCall, TracedTrial


def send_trace(
    context: Context, trial: Trial, said: ClockedMessages, meters: Sequence[UsageMeter], *, confidential: bool
) -> None:
    """Send the trace of a trial that has ended; SetupError if there can be no exporter."""
    calls = [
        TracedCall(call=call, role=meter.purpose.role, ended=ended, cost=cost)
        for meter in meters
        for call, (ended, cost) in zip(meter.calls, meter.ends, strict=True)
    ]
    traced = TracedTrial(
        trial=trial, messages=tuple(said), times=tuple(said.times), calls=calls, confidential=confidential
    )
    context.once(telemetry_of).record(traced)


def telemetry_of(context: Context) -> Exporters:
    """Return the exporters of this process; SetupError if the environment asks for unknown ones."""
    options = context.options
    try:
        return Exporters(
            run=options.run, worker=context.worker, redactor=context.redactor, content=options.otel == "content"
        )
    except TelemetryError as error:
        raise SetupError(str(error)) from error
