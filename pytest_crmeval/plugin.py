"""The pytest hooks. Other modules implement them, and are imported when there is something to evaluate."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crmeval import hookspecs
from pytest_crmeval.collect.fixtures import (
    agent,
    conversation,
    crm,
    crm_connection,
    evaluate,
    question,
    sandbox,
    scorers,
    solutions,
)
from pytest_crmeval.collect.names import MARKERS, PROCESS, RUN_FIXTURE
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.options.declared import add_options
from pytest_crmeval.options.reading import options_of

if TYPE_CHECKING:
    from pytest_crmeval.controller.workers import Node
    from pytest_crmeval.ports.agent import Agent
    from pytest_crmeval.ports.sandbox import Sandbox

__all__ = ["agent", "conversation", "crm", "crm_connection", "evaluate", "question", "sandbox", "scorers", "solutions"]


def _process(config: pytest.Config) -> Any:  # noqa: ANN401 (a Controller or a Worker)
    """Return this process's part of the run, and begin it if necessary; a run without our tests never has one."""
    if not config.pluginmanager.has_plugin(PROCESS):
        if hasattr(config, "workerinput"):  # neither process loads the modules of the other
            from pytest_crmeval.controller.worker import join_run

            join_run(config)
        else:
            from pytest_crmeval.controller.run import begin_run

            begin_run(config)
    return config.pluginmanager.get_plugin(PROCESS)


@pytest.fixture(scope="session", name=RUN_FIXTURE)
def _run(pytestconfig: pytest.Config) -> None:
    """Begin the run, for fixtures that use its server in tests without our markers."""
    _process(pytestconfig)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare options; track the background run that this process was started for, if there is one."""
    add_options(parser)
    if "CRMEVAL_JOB" in os.environ:
        from pytest_crmeval.controller.background_process import track_background_run

        track_background_run(pluginmanager)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare hooks."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Decide the options, and declare the markers."""
    options_of(config)
    for line in MARKERS.values():
        config.addinivalue_line("markers", line)
    if config.pluginmanager.hasplugin("pytest_postgresql"):
        from pytest_crmeval.collect import postgresql

        config.pluginmanager.register(postgresql, "crmeval-postgresql")  # after pytest-postgresql: the last one counts


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Only collect when the run is only to be estimated; before xdist decides about workers."""
    if config.getoption("crmeval_estimate"):
        config.option.collectonly = True
        config.option.verbose = min(getattr(config.option, "verbose", 0), -2)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse an agent, a judge or a simulated user that can't be created, before anything is started for it."""
    options = options_of(session.config)
    if options.judge or options.user or any(options.spec(name) != "oracle" for name in options.agents):
        from pytest_crmeval.collect.context import check_subjects
        from pytest_crmeval.controller.redaction import redact_secrets

        redact_secrets(session.config)
        check_subjects(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: "Node") -> None:
    """Connect a worker of xdist before it starts."""
    _process(node.config).connect(node)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Don't search run folders for tests: they contain a file per trial."""
    reports = options_of(config).reports
    return True if collection_path.parent == reports and (collection_path / JOURNAL).exists() else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give marked tests their cases."""
    if any(map(metafunc.definition.get_closest_marker, MARKERS)):
        from pytest_crmeval.collect.cases import generate

        generate(metafunc, _process(metafunc.config))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, object, object]:
    """Find our cases before other plugins deselect items, and draw the sample from what they leave."""
    if not config.pluginmanager.has_plugin(PROCESS):
        return (yield)
    from pytest_crmeval.collect.collected import find_cases, select_cases

    collected = find_cases(config, items, _process(config))
    result = yield
    select_cases(config, items, collected, _process(config))
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Send the plan, or why nothing can be played, before xdist reports that the worker has collected."""
    if session.config.pluginmanager.has_plugin(PROCESS):
        from pytest_crmeval.collect.collected import send_plan

        send_plan(session, _process(session.config))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the verdict of the trial on the report of its test."""
    report = yield
    if item.config.pluginmanager.has_plugin(PROCESS):
        from pytest_crmeval.collect.item import finish_report

        finish_report(item, call, report)
    return report


@pytest.hookimpl(trylast=True)
def pytest_crmeval_agent(config: pytest.Config, spec: str) -> "Agent | None":
    """Make the agents that come with the package."""
    from pytest_crmeval.collect.context import our_agent

    return our_agent(config, spec)


@pytest.hookimpl(trylast=True)
def pytest_crmeval_sandbox(config: pytest.Config, spec: str) -> "Sandbox | None":
    """Make the sandboxes that come with the package."""
    from pytest_crmeval.collect.context import our_sandbox

    return our_sandbox(config, spec)
