"""Models that are retired, or soon will be."""

from collections.abc import Callable

import pytest

from pytest_crmeval.models import prices
from tests.projects import case, report_of
from tests.providers.loopback import Loopback

pytestmark = pytest.mark.usefixtures("given_server")
NOTICE = "claude-sonnet-4-5-20250929 w* retired on 2026-11-30; its successor is *"


def test_run_and_estimate_warn_and_the_report_says_which_model_was_called(
    project: Callable[..., pytest.Pytester],
    providers: Callable[..., Loopback],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = providers()
    monkeypatch.setattr(prices, "is_own", lambda *_: True)
    monkeypatch.setenv("COLUMNS", "200")
    pytester = project([case("one")])
    agents = ["--crmeval-agent", "claude-sonnet-4-5", "--crmeval-agent", "claude"]

    estimated = pytester.runpytest("-p", "no:xdist", *agents, "--crmeval-estimate")
    estimated.stdout.fnmatch_lines([f"note: {NOTICE}"])
    assert [] == server.seen

    result = pytester.runpytest("-p", "no:xdist", *agents)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([f"crmeval model:  {NOTICE}", f"note: claude-sonnet-4-5: {NOTICE}"])
    asked = {trial["subject"]: trial["models"] for trial in report_of(pytester.path)["trials"]}
    assert {
        "claude": ["anthropic:claude-sonnet-5-5"],
        "claude-sonnet-4-5": ["anthropic:claude-sonnet-4-5-20250929"],
    } == asked
    assert {"claude-sonnet-5-5", "claude-sonnet-4-5-20250929"} == {seen.model for seen in server.seen}
