"""Hooks that other plugins and conftest files may implement."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # loaded in every pytest run of the environment
    from collections.abc import Sequence

    from pytest_crmeval.domain.trial import Trial
    from pytest_crmeval.ports.agent import Agent
    from pytest_crmeval.ports.sandbox import Sandbox
    from pytest_crmeval.report.report import Report
    from pytest_crmeval.report.ruling import Ruling


@pytest.hookspec(firstresult=True)
def pytest_crmeval_agent(config: pytest.Config, spec: str) -> "Agent | None":
    """Return the agent that ``spec`` names, or None if you don't know it."""


@pytest.hookspec(firstresult=True)
def pytest_crmeval_sandbox(config: pytest.Config, spec: str) -> "Sandbox | None":
    """Return the sandbox that ``spec`` (--crmeval-sandbox) names, or None if you don't know it."""


@pytest.hookspec
def pytest_crmeval_trial_finished(config: pytest.Config, trial: "Trial") -> None:
    """Take notice of a trial, on the controller, after it is in the journal."""


@pytest.hookspec
def pytest_crmeval_report(config: pytest.Config, report: "Report") -> None:
    """Take notice of the report, on the controller, when it is written: with its gates judged and its comparison."""


@pytest.hookspec
def pytest_crmeval_gate(config: pytest.Config, report: "Report") -> "Sequence[Ruling] | Ruling | None":
    """Judge a whole run by a rule of your own, on the controller: return rulings, or None if you have none.

    A ruling that does not hold makes the run red, as a gate of the project does. The run of one shard is not judged;
    what was merged of shards is when a run goes on with it.
    """
