"""Traces and metrics of a run for OpenTelemetry, with the official SDK (extra ``otel``)."""
