"""GitHub Actions: a summary of the job's step, and annotations. Elsewhere there is nothing to write to."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_crmeval.render.markdown import report_page
from pytest_crmeval.report.report import Report

SUMMARY = "GITHUB_STEP_SUMMARY"
ANNOTATED = 10
"""So many annotations of a kind GitHub shows of one step."""
LARGEST = 1_000_000
"""Bytes; GitHub refuses a summary of a step that is larger than a mebibyte."""


def write_summary(report: Report, environment: Mapping[str, str] = os.environ) -> str:
    """Append the run to the summary of this step, if there is one; return why it could not be written, if so."""
    path = environment.get(SUMMARY)
    if not path:
        return ""
    page = report_page(report).encode("utf-8", "backslashreplace")
    try:
        with Path(path).open("ab") as file:
            file.write(page if len(page) <= LARGEST else page[:LARGEST] + b"\n\n(cut: see the report)\n")
    except OSError as error:
        return f"the step summary could not be written: {path}: {error.strerror}"
    return ""


def annotations(report: Report, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield what GitHub shows beside a pull request: breached gates, and cases that fail since the baseline."""
    if environment.get("GITHUB_ACTIONS") != "true":
        return
    breaches = [ruling for ruling in report.rulings if not ruling.holds]
    for ruling in breaches[:ANNOTATED]:
        whose = f" ({ruling.subject})" if ruling.subject else ""
        yield _command("error", "crmeval gate", f"{ruling.gate}{whose}: {ruling.explanation}")
    failing = [
        (contrast, change)
        for contrast in (report.comparison.contrasts if report.comparison else ())
        for change in contrast.newly_failing
    ]
    for contrast, change in failing[:ANNOTATED]:
        told = f"{contrast.suite}, {contrast.subject}: {change.case} fails since the baseline: {change.reason}"
        yield _command("warning", "crmeval", told)


def _command(kind: str, title: str, message: str) -> str:
    """Return a line that the runner takes for a command; nothing in the message is one."""
    return f"::{kind} title={_escaped(title, more=':,')}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    for sign in f"%\r\n{more}":
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text
