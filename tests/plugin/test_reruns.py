"""pytest-rerunfailures is refused for cases, because only the last attempt would count."""

from collections.abc import Callable

import pytest

from tests.projects import TEST_FILE, case, failing, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
PLUGIN = """
from _pytest.runner import runtestprotocol

def pytest_addoption(parser):
    parser.addoption("--reruns", type=int)

def pytest_configure(config):
    config.addinivalue_line("markers", "flaky(reruns=1): run again")

def get_reruns_count(item):
    marker = item.get_closest_marker("flaky")
    return item.config.getoption("reruns") if marker is None else marker.kwargs["reruns"]

def pytest_runtest_protocol(item, nextitem):
    for left in range(get_reruns_count(item) or 0, -1, -1):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        again = left and any(report.failed for report in reports)
        for report in reports:
            report.outcome = "rerun" if again and report.failed else report.outcome
            item.ihook.pytest_runtest_logreport(report=report)
        if not again:
            return True
"""
"""A minimal pytest-rerunfailures; the real one is not installed, because it would affect every test."""


@pytest.fixture
def reruns(project: Project) -> pytest.Pytester:
    """Return a project with the plugin, two cases that fail at the first attempt, and a test without cases."""
    pytester = project([case("one"), failing("two"), failing("three")])
    pytester.makepyfile(rerunfailures=PLUGIN, test_other="def test_other(): pass")
    pytester.syspathinsert()
    return pytester


def test_reruns_of_cases_are_refused_before_anything_is_played(reruns: pytest.Pytester) -> None:
    """The error names the option for repeats."""
    result = reruns.runpytest("-p", "rerunfailures", "--reruns", "2", "--crmeval-agent", "bots:Half")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--reruns is not allowed for *test_crm.py::*--crmeval-trials N*"])
    assert not list(reruns.path.glob("reports/*.json"))


def test_reruns_of_other_tests_are_allowed(reruns: pytest.Pytester) -> None:
    """The evaluating test is marked, and each of its cases is played once."""
    marked = TEST_FILE.replace("@pytest.mark.conv", "@pytest.mark.flaky(reruns=0)\n@pytest.mark.conv")
    next(reruns.path.glob("test_crm.py")).write_text(marked)

    result = reruns.runpytest("-p", "rerunfailures", "--reruns", "2", "--crmeval-agent", "bots:Half", "-p", "no:xdist")

    result.assert_outcomes(passed=2, failed=2)
    (summary,) = report_of(reruns.path)["results"]
    assert (1, 2) == (summary["passed"], summary["failed"])


def test_reruns_are_allowed_in_a_session_without_cases(reruns: pytest.Pytester) -> None:
    result = reruns.runpytest("-p", "rerunfailures", "--reruns", "2", "test_other.py", "-p", "no:xdist")

    result.assert_outcomes(passed=1)
