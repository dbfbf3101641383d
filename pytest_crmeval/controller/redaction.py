"""Secrets are redacted in everything that pytest shows or stores: reports, captured output, tracebacks, logs."""

import logging
import re
import traceback
import warnings
from collections.abc import Generator, Mapping
from typing import Any

import pytest

from pytest_crmeval.compat import junit_xml, redact_reprs
from pytest_crmeval.domain.explanation import plain_lines
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.options.environment import redactor_of
from pytest_crmeval.options.reading import is_colored

_NAME = "crmeval-secrecy"
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


def redact_secrets(config: pytest.Config) -> None:
    """Start redacting, once per process."""
    if not config.pluginmanager.has_plugin(_NAME):
        config.pluginmanager.register(SecretRedaction(redactor_of(config), colored=is_colored(config)), _NAME)


class SecretRedaction:
    """Redacts secrets in reports before other plugins see them, and in log records when they are created."""

    def __init__(self, redactor: Redactor, *, colored: bool = False) -> None:
        self._redactor = redactor
        self._colored = colored
        self._undo = redact_reprs(redactor.text)
        self._factory = logging.getLogRecordFactory()
        logging.setLogRecordFactory(self._record)

    def pytest_unconfigure(self) -> None:
        """Restore logging and reprs."""
        self._undo()
        if logging.getLogRecordFactory() == self._record:
            logging.setLogRecordFactory(self._factory)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Redact a report after all other plugins have added to it: trial, captured output, traceback."""
        report = yield
        report.sections = [(name, self._redactor.text(content)) for name, content in report.sections]
        report.user_properties = [(name, self._kept(value)) for name, value in report.user_properties]
        if "wasxfail" in vars(report):
            vars(report)["wasxfail"] = self._redactor.text(vars(report)["wasxfail"])
        if isinstance(report.longrepr, tuple):  # a skip: file, line, reason
            *place, why = report.longrepr
            report.longrepr = (*place, self._redactor.text(why))  # type: ignore[assignment] # as it was
        else:
            self._redact(report)
            self._escape_controls(report)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_assertrepr_compare(
        self, config: pytest.Config, op: str, left: object, right: object
    ) -> Generator[None, list[list[str] | None], list[list[str] | None]]:
        """Redact secrets in compared values, because pytest omits equal parts and shortens the rest."""
        found = yield
        operands = [self._operand(value) for value in (left, right)]
        if operands[0] is not left or operands[1] is not right:
            found = config.hook.pytest_assertrepr_compare(config=config, op=op, left=operands[0], right=operands[1])
        return [lines and list(map(self._redactor.text, lines)) for lines in found]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Redact the report of a subtest, which has its own output and parameters."""
        if isinstance(report, pytest.SubtestReport):
            report.sections = [(name, self._redactor.text(content)) for name, content in report.sections]
            context = report.context
            redacted = {name: self._redactor.text(value) for name, value in context.kwargs.items()}
            object.__setattr__(context, "kwargs", redacted)  # creating a new one would quote them again
            object.__setattr__(context, "msg", context.msg and self._redactor.text(context.msg))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Redact the properties of the whole suite, which are in no report, before they are written."""
        if xml := junit_xml(session.config):
            xml.global_properties = [(name, self._redactor.text(value)) for name, value in xml.global_properties]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Redact errors of collection."""
        report = yield
        if report.failed:
            self._redact(report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Redact a warning before other plugins see it."""
        text = str(warning_message.message)
        clean = self._redactor.text(text)
        if clean != text:
            warning_message.message = UserWarning(clean)

    def _redact(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        text = str(report.longrepr or "")
        clean = self._redactor.text(text)
        if clean != text:  # else its colours stay
            report.longrepr = clean

    def _escape_controls(self, report: pytest.TestReport) -> None:
        """Escape control characters in the report of a case; our own colours are kept if the terminal shows colours.

        An errored trial has none of our colours: its text is an agent's exception.
        """
        verdict = vars(report).get("crmeval_verdict")
        if verdict is None or not report.longrepr:
            return
        text = str(report.longrepr)
        parts = _COLOUR.split(text) if self._colored and verdict != Verdict.ERRORED else [text]
        safe = "".join(part if place % 2 else plain_lines(part) for place, part in enumerate(parts))
        if safe != text:
            report.longrepr = safe

    def _operand(self, value: object) -> object:
        """Return one side of a comparison with secrets redacted; unchanged if there are none or it is not JSON."""
        if isinstance(value, str):
            return self._redactor.text(value)
        return self._redactor.json(value) if isinstance(value, (Mapping, list, tuple)) else value

    def _kept(self, value: object) -> object:
        """Return a value of a report without secrets; a value without any is returned as it is."""
        clean = self._redactor.text(str(value))
        return value if clean == str(value) else clean

    def _record(self, *args: Any, **named: Any) -> logging.LogRecord:  # noqa: ANN401 (logging's own)
        record = self._factory(*args, **named)
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 (logging reports it when the record is shown)
            message = str(record.msg)
        clean = self._redactor.text(message)
        if clean != message:
            record.msg, record.args = clean, None
        if record.exc_info:
            trace = "".join(traceback.format_exception(*record.exc_info))
            clean = self._redactor.text(trace)
            if clean != trace:
                record.exc_info, record.exc_text = None, clean.rstrip()
        return record
