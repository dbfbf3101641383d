"""The end of a run on the terminal: a few failed cases, then our summary as the last section."""

import shutil
from collections.abc import Callable, Generator, Iterable
from copy import copy

import pytest

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.render.fitting import wrapped_dialogue

_STATS = ("failed", "error")
Lines = Callable[[int, int | None], Iterable[str]]
"""Returns the lines of the summary for a width, and for a height where there is a screen."""


class TerminalSummary:
    """Writes the summary after all other sections, and limits what pytest shows of failed cases.

    pytest prints the text of each failed test, and later a line for each. Of hundreds of failed cases the first few are
    enough, because the summary groups all of them and the page has every dialogue. Other tests are shown as always, and
    the hooks of other plugins see all reports.
    """

    def __init__(self, config: pytest.Config, lines: Lines) -> None:
        self._config = config
        self._lines = lines
        self._reports = _FailedCases(config)
        config.pluginmanager.register(_BeforeOthers(self._reports), "crmeval-before-other-summaries")
        config.pluginmanager.register(_AfterOthers(self._reports), "crmeval-after-other-summaries")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Generator[None, object, object]:
        """Limit the failures that pytest is about to show; at the end write the summary, even if a plugin fails."""
        width = self._config.get_terminal_writer().fullwidth
        self._reports.hide(terminalreporter, keep=options_of(self._config).failures, width=width)
        try:
            return (yield)
        finally:
            self._reports.restore(terminalreporter)
            height = shutil.get_terminal_size().lines if terminalreporter.isatty() else None
            if lines := list(self._lines(width, height)):
                terminalreporter.write_sep("=", "crmeval")
                for line in lines:
                    terminalreporter.write_line(line)


class _FailedCases:
    """Hides the reports of failed cases from pytest's terminal reporter for a while."""

    def __init__(self, config: pytest.Config) -> None:
        self._shows_all = options_of(config).verbose
        self._whole: dict[str, list[object]] = {}

    def hide(self, terminal: pytest.TerminalReporter, *, keep: int, width: int = 0) -> None:
        """Hide all reports of failed cases but the first few, whose dialogues are wrapped to ``width``."""
        if self._shows_all:
            return
        self._whole = {name: terminal.stats[name] for name in _STATS if name in terminal.stats}
        for name, reports in self._whole.items():
            failed = set(Verdict) - {Verdict.PASSED}  # the summary and the page show their trials
            cases = [report for report in reports if getattr(report, "crmeval_verdict", None) in failed]
            hidden, shown = set(map(id, cases[keep:])), set(map(id, cases[:keep]))
            terminal.stats[name] = [
                _fitting(report, width) if id(report) in shown else report
                for report in reports
                if id(report) not in hidden
            ]

    def restore(self, terminal: pytest.TerminalReporter) -> None:
        """Show everything again."""
        terminal.stats.update(self._whole)


def _fitting(report: object, width: int) -> object:
    """Return a copy of a report whose dialogue fits the terminal; the traceback of pytest stays as it is."""
    if not isinstance(report, pytest.TestReport):
        return report
    text = report.longrepr
    if getattr(getattr(text, "reprtraceback", None), "style", "") == "value":  # of pytest.fail without a traceback
        text = str(text)
    if not isinstance(text, str):
        return report
    fitting = copy(report)
    fitting.longrepr = wrapped_dialogue(text, width)
    return fitting


class _BeforeOthers:
    """Lets other plugins see all reports."""

    def __init__(self, reports: _FailedCases) -> None:
        self._reports = reports

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self._reports.restore(terminalreporter)


class _AfterOthers:
    """Leaves no failed case for pytest's list of failed tests, which comes last."""

    def __init__(self, reports: _FailedCases) -> None:
        self._reports = reports

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self._reports.hide(terminalreporter, keep=0)
