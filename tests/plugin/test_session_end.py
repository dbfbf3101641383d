"""The end of a run when another plugin fails at the end of the session."""

from collections.abc import Callable

import pytest

from tests.projects import case, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]

DEADLY = """
import os, signal
from bots import Half

class Deadly(Half):
    '''Kills the first worker, whose report syrupy needs; the one that replaces it has another name.'''

    def reply(self, messages, tools):
        if os.environ["PYTEST_XDIST_WORKER"] == "gw0":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().reply(messages, tools)
"""
WORKERS_LEFT = """
from pathlib import Path

def pytest_sessionfinish(session):
    if xdist := session.config.pluginmanager.get_plugin("dsession"):
        Path("left.txt").write_text(str(len(xdist.nodemanager.group)))
"""


def test_summary_and_gates_appear_after_a_killed_worker_with_syrupy_and_warnings_as_errors(project: Project) -> None:
    """Syrupy warns after a crash, and JUnit XML is written after syrupy; the workers have ended before."""
    pytester = project(
        [case(f"c{number}") for number in range(12)],
        ini="filterwarnings = error\ncrmeval_gates = crm.pass_rate >= 0.5\n",
        plugin="syrupy",
    )
    pytester.makepyfile(deadly=DEADLY)
    pytester.makeconftest(WORKERS_LEFT)

    result = pytester.runpytest_subprocess(
        "-n", "2", "--max-worker-restart", "9", "--crmeval-agent", "deadly:Deadly", "--junitxml", "junit.xml"
    )

    result.stdout.fnmatch_lines(["*= crmeval =*", "*gate *crm.pass_rate >= 0.5*", "report: *"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert (pytester.path / "junit.xml").exists()
    assert "0" == (pytester.path / "left.txt").read_text()
    assert report_of(pytester.path)["complete"]


@pytest.mark.parametrize("hook", ["pytest_sessionfinish", "pytest_terminal_summary"])
def test_summary_and_exit_status_appear_although_another_plugin_raises_at_the_end(project: Project, hook: str) -> None:
    """The error is shown, and a run that would have passed fails."""
    pytester = project()
    pytester.makeconftest(f"def {hook}():\n    raise RuntimeError('lost its socks')\n")

    result = pytester.runpytest_subprocess("--crmeval-run", "socks")

    result.stdout.fnmatch_lines(["*= crmeval =*", "report: *socks.json"])
    result.stdout.fnmatch_lines(["INTERNALERROR> RuntimeError: lost its socks"])
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert 3 == report_of(pytester.path)["results"][0]["passed"]


@pytest.mark.parametrize(
    ("gate", "asked", "status"),
    [("crm.pass_rate >= 0.5", "", 0), ("crm.pass_rate >= 0.5", ", 7", 7), ("crm.passed >= 99", ", 0", 1)],
)
def test_summary_and_gates_appear_although_another_plugin_exits_at_the_end(
    project: Project, gate: str, asked: str, status: int
) -> None:
    """The exit status is the plugin's, unless the run failed."""
    pytester = project(ini=f"crmeval_gates = {gate}\n")
    pytester.makeconftest(f"import pytest\n\ndef pytest_sessionfinish():\n    pytest.exit('no socks'{asked})\n")

    result = pytester.runpytest_subprocess("-p", "no:xdist")

    result.stdout.fnmatch_lines(["*= crmeval =*", f"*gate *{gate}*", "report: *"])
    assert "no socks" in result.stderr.str()
    assert status == result.ret


def test_error_of_another_plugin_is_raised_unchanged_if_nothing_was_evaluated(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_sessionfinish():\n    raise RuntimeError('lost its socks')\n")
    pytester.makepyfile("def test_one(): pass")

    result = pytester.runpytest_subprocess("-p", "no:xdist")

    assert "Traceback" in result.stderr.str()
