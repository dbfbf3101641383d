"""Several agents with separate exit statuses, as docs/ci.md describes."""

from collections.abc import Callable

import pytest

from pytest_crmeval import cli
from tests.projects import case, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
GATE = ("--gate", "crm.pass_rate >= 0.9")


def statuses(run: str) -> list[int]:
    """Return the exit statuses of the gate of each agent."""
    return [cli.main(["gate", run, "--subject", name, *GATE]) for name in ("oracle", "mute")]


def test_agents_of_several_processes_are_merged_and_judged_separately(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process per agent, then one merged run."""
    pytester = project([case("one"), case("two")])
    monkeypatch.chdir(pytester.path)
    for name in ("oracle", "mute"):
        pytester.runpytest("--crmeval-agent", name, "--crmeval-run", f"of-{name}", "-p", "no:xdist")

    assert 1 == cli.main(["merge", "of-oracle", "of-mute", "-o", "whole", *GATE])
    assert [0, 1] == statuses("whole")


def test_agent_that_is_played_later_joins_the_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is resumed with another agent; trials of the first agent are not repeated."""
    pytester = project([case("one"), case("two")])
    monkeypatch.chdir(pytester.path)
    for name in ("oracle", "mute"):
        result = pytester.runpytest("--crmeval-agent", name, "--crmeval-run", "both", "-p", "no:xdist")
        result.assert_outcomes(**{"passed" if name == "oracle" else "failed": 2})

    played = {each["subject"]: each["planned"] for each in report_of(pytester.path)["results"]}
    assert {"oracle": 2, "mute": 2} == played
    assert [0, 1] == statuses("both")
