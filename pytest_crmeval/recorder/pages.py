"""The page of a run, written when it is over."""

import pytest

from pytest_crmeval.domain.report import Report
from pytest_crmeval.options import Options
from pytest_crmeval.runs import summary


def write_page(config: pytest.Config, report: Report) -> str:
    """Write the page, unless the project wants none; return where it is, or why it is not there.

    The report is the record: a run is not red for want of a page.
    """
    if not config.getini("crmeval_page"):
        return ""
    from pytest_crmeval.runs import page

    try:
        return f"page:   {summary.short(page.write(report, Options.from_config(config).reports))}"
    except OSError as error:
        return f"the page could not be written: {error}"
