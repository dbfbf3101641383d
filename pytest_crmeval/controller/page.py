"""Writes the page of a run when it has ended."""

import pytest

from pytest_crmeval.options.reading import options_of
from pytest_crmeval.render import summary
from pytest_crmeval.report.report import Report


def write_page(config: pytest.Config, report: Report, *, anew: bool = True) -> str:
    """Write the page, unless the project has turned it off; return its path, or the error.

    A missing page does not fail the run. Without ``anew``, which means that something was played, an existing page is
    kept unless there are gates or a baseline to show.
    """
    options = options_of(config)
    if not options.page:
        return ""
    from pytest_crmeval.render import page

    reports = options.reports
    there = reports / f"{report.run['id']}.html"
    if not anew and there.exists() and not report.rulings and not report.comparison:
        return f"page:   {summary.short(there)}"
    try:
        return f"page:   {summary.short(page.write(report, reports))}"
    except OSError as error:
        return f"the page could not be written: {error}"
