"""GitHub Actions: the summary of the step, and annotations. Elsewhere nothing is written."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_crmeval.render.markdown import report_page
from pytest_crmeval.report.report import Report

SUMMARY = "GITHUB_STEP_SUMMARY"
ANNOTATED = 10
"""GitHub shows this many annotations of a kind per step."""
LARGEST = 1_000_000
"""In bytes; GitHub refuses a step summary of more than a mebibyte."""


def write_summary(report: Report, environment: Mapping[str, str] = os.environ) -> str:
    """Append the run to the step summary, if there is one; return the error if that fails."""
    path = environment.get(SUMMARY)
    if not path:
        return ""
    page = report_page(report).encode("utf-8", "backslashreplace")
    try:
        with Path(path).open("ab") as file:
            file.write(page if len(page) <= LARGEST else page[:LARGEST] + b"\n\n(truncated; see the report)\n")
    except OSError as error:
        return f"the step summary could not be written: {path}: {error.strerror}"
    return ""


def annotations(report: Report, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield annotations for a pull request: breached gates, and newly failing cases."""
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
        text = f"{contrast.suite}, {contrast.subject}: {change.case} newly fails: {change.reason}"
        yield _command("warning", "crmeval", text)


def _command(kind: str, title: str, message: str) -> str:
    """Return a workflow command of the runner; the message is escaped."""
    return f"::{kind} title={_escaped(title, more=':,')}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    for sign in f"%\r\n{more}":
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text
