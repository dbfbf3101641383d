"""The end of a process that has called models."""

import sys


def close_telemetry() -> None:
    """Send the traces and metrics that are left, if there are any."""
    if "pytest_crmeval.tracing.telemetry" in sys.modules:
        from pytest_crmeval.tracing import telemetry

        telemetry.close()


def close_models() -> None:
    """Close the connections to models, and send the traces and metrics that are left, if there are any."""
    close_telemetry()
    if "pytest_crmeval.models.sdks.event_loop" in sys.modules:
        from pytest_crmeval.models.sdks.event_loop import close

        close()
