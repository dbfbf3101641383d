"""``--crmeval-suite`` selects cases by the name of their suite."""

from collections.abc import Callable

import pytest

Project = Callable[..., pytest.Pytester]
TWO_SUITES = """
import pytest

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_crm(conversation, evaluate):
    assert evaluate(conversation).passed

@pytest.mark.conversations("cases.jsonl", suite="other")
def test_other(conversation, evaluate):
    assert evaluate(conversation).passed
"""


def test_only_selected_suites_are_played(project: Project) -> None:
    pytester = project(test=TWO_SUITES)

    result = pytester.runpytest_inprocess("--collect-only", "--crmeval-suite", "other", "--crmeval-agent", "mute")

    assert "other × mute: 3 cases" in result.outlines
    assert "crm × mute" not in result.stdout.str()


def test_several_suites_can_be_selected(project: Project) -> None:
    pytester = project(test=TWO_SUITES)

    result = pytester.runpytest_inprocess("--collect-only", "--crmeval-suite=other", "--crmeval-suite=crm")

    assert {"crm × oracle: 3 cases", "other × oracle: 3 cases"} <= set(result.outlines)


def test_unknown_suite_is_refused(project: Project) -> None:
    pytester = project(test=TWO_SUITES)

    result = pytester.runpytest_inprocess("--crmeval-suite", "orm")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--crmeval-suite 'orm': unknown suite; suites: crm, other"])
