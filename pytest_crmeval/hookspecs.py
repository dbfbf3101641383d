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
    """Handle a finished trial, on the controller, after it was written to the journal."""


@pytest.hookspec
def pytest_crmeval_report(config: pytest.Config, report: "Report") -> None:
    """Handle the finished report, on the controller, with the results of its gates and its comparison."""


@pytest.hookspec
def pytest_crmeval_gate(config: pytest.Config, report: "Report") -> "Sequence[Ruling] | Ruling | None":
    """Evaluate a rule of your own for the whole run, on the controller. Return rulings, or None if there are none.

    If a ruling does not hold, the exit status is 1, as with a gate of the project. The hook is not called for a
    single shard, nor by ``crmeval merge``; it is called when a merged run is resumed.
    """
