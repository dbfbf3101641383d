"""When: the pytest hooks. Other modules know how, and are imported when there is something to evaluate."""

import os
from collections.abc import Collection, Generator
from pathlib import Path
from typing import TYPE_CHECKING

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
from pytest_crmeval.collect.keys import MARKERS, SERVICES
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.options.declared import add_options
from pytest_crmeval.options.reading import is_dry_run, is_selective, options_of

if TYPE_CHECKING:
    from pytest_crmeval.controller.run import Controller, Node
    from pytest_crmeval.controller.worker import Worker
    from pytest_crmeval.ports.agent import Agent
    from pytest_crmeval.ports.sandbox import Sandbox

__all__ = ["agent", "conversation", "crm", "crm_connection", "evaluate", "question", "sandbox", "scorers", "solutions"]

_PROCESS = pytest.StashKey["Controller | Worker"]()


def _process(config: pytest.Config) -> "Controller | Worker":
    """Return what this process is in the run; a pytest run without our markers never has one."""
    if _PROCESS not in config.stash:
        if hasattr(config, "workerinput"):  # neither loads the modules of the other
            from pytest_crmeval.controller.worker import join_run

            config.stash[_PROCESS] = join_run(config)
        else:
            from pytest_crmeval.controller.run import begin_run

            config.stash[_PROCESS] = begin_run(config)
    return config.stash[_PROCESS]


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare options; and see to the job that this process was started for, if it was."""
    add_options(parser)
    if "CRMEVAL_JOB" in os.environ:
        from pytest_crmeval.controller.background_process import attend

        attend(pluginmanager)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare hooks."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Decide the options, declare the markers, and say where fixtures find the run's databases."""
    options_of(config)
    config.addinivalue_line("markers", "conversations(path, suite=...): play each conversation of a JSON Lines file")
    config.addinivalue_line(
        "markers", "questions(path, suite=..., confidential=...): ask each question of a JSON Lines or CSV file"
    )
    config.addinivalue_line(
        "markers",
        "solutions(path, problems=..., threshold=..., suite=...): judge each solution file (JSON Lines) of checkpoints",
    )
    if config.pluginmanager.hasplugin("pytest_postgresql"):
        from pytest_crmeval.collect import postgresql

        config.pluginmanager.register(postgresql, "crmeval-postgresql")  # after pytest-postgresql: the last one counts
    config.stash[SERVICES] = lambda: _process(config)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Only collect when the run is only to be estimated; before xdist decides about workers."""
    if config.getoption("crmeval_estimate"):
        config.option.collectonly = True
        config.option.verbose = min(getattr(config.option, "verbose", 0), -2)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse an agent or a judge that can't be had before anything is started for it."""
    options = options_of(session.config)
    specs = {options.spec(name) for name in options.agents} - {"oracle"}
    if specs or options.judge:
        from pytest_crmeval.collect.context import context_of, usage_errors
        from pytest_crmeval.controller.redaction import keep_secrets
        from pytest_crmeval.player.models import check_models

        keep_secrets(session.config)
        with usage_errors():
            check_models(context_of(session.config), specs)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: "Node") -> None:
    """Tell a worker what it has to know, while there is a way to tell it."""
    process = _process(node.config)
    if TYPE_CHECKING:
        assert isinstance(process, Controller)  # workers have no workers
    process.brief(node)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Don't search run folders for tests: they contain a file per trial."""
    reports = options_of(config).reports
    return True if collection_path.parent == reports and (collection_path / JOURNAL).exists() else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give marked tests their cases, and have the server started while the rest is collected, if it will be needed."""
    if any(map(metafunc.definition.get_closest_marker, MARKERS)):
        from pytest_crmeval.collect.cases import kind_of, parametrize
        from pytest_crmeval.collect.gc_pause import pause_gc, resume_gc

        kind, marker = kind_of(metafunc)
        pause_gc(metafunc.config)
        try:
            some = parametrize(metafunc, kind, marker, _known_done(metafunc.config))
        except BaseException:
            resume_gc(metafunc.config)
            raise
        process = _process(metafunc.config)
        if some and kind.needs_server and not is_dry_run(metafunc.config) and not is_selective(metafunc.config):
            process.server.begin()


def _known_done(config: pytest.Config) -> Collection[tuple[str, ...]]:
    """Return what a worker knows to be done; nothing where a sample is drawn from all cases, done ones included."""
    early = hasattr(config, "workerinput") and not options_of(config).samples_later
    return _process(config).done if early else ()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, object, object]:
    """Find our cases, draw the sample from those that -k and -m select, and deselect those that are done."""
    if _PROCESS not in config.stash:
        return (yield)
    from pytest_crmeval.collect.cases import deselect_done, deselect_nothing, deselect_unsampled, remember_cases

    deselect_nothing(config, items)
    remember_cases(items)
    collected, done = list(items), config.stash[_PROCESS].done
    if not options_of(config).samples_later:
        deselect_done(config, items, done)
        return (yield)
    result = yield
    deselect_unsampled(config, items, collected)
    deselect_done(config, items, done)  # after the sample: a resumed run has the same one
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Tell what will be played, or why nothing can be; before xdist says that the worker has collected."""
    if _PROCESS in session.config.stash:
        from pytest_crmeval.collect.cases import leave_out, need_server, objection, plan_of
        from pytest_crmeval.collect.gc_pause import resume_gc
        from pytest_crmeval.collect.prefetch import plan_prefetch
        from pytest_crmeval.collect.shards import dealt_of
        from pytest_crmeval.collect.streams import met_twice, put_learners_last

        resume_gc(session.config)
        process, left_out = session.config.stash[_PROCESS], leave_out(session)
        put_learners_last(session.items)
        if why := objection(session, left_out, begun=bool(process.done)) or met_twice(session.items):
            process.refuse(f"crmeval: {why}")
        if need_server(session.items) and not is_dry_run(session.config):
            process.server.begin()
        if dealt := dealt_of(session.config):
            process.deal(dealt)
        process.tell(plan_of(session.items), plan_prefetch(session.items, left_out))
        if options_of(session.config).estimate:
            from pytest_crmeval.controller.estimate import forecast

            process.foretell(forecast(session))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send the trial along with its report."""
    report = yield
    if _PROCESS in item.config.stash:
        from pytest_crmeval.collect.item import attach_trial, conceal, forget_trial

        attach_trial(item, call, report)
        conceal(item, call, report)
        if call.when == "teardown":
            forget_trial(item)
    return report


@pytest.hookimpl(trylast=True)
def pytest_crmeval_agent(config: pytest.Config, spec: str) -> "Agent | None":
    """Know the agents that come with the package."""
    from pytest_crmeval.collect.context import context_of, usage_errors
    from pytest_crmeval.player.models import known_agent

    with usage_errors():
        return known_agent(context_of(config), spec)


@pytest.hookimpl(trylast=True)
def pytest_crmeval_sandbox(config: pytest.Config, spec: str) -> "Sandbox | None":
    """Know the sandboxes that come with the package."""
    from pytest_crmeval.collect.context import context_of
    from pytest_crmeval.player.sandboxes import known_sandbox

    return known_sandbox(context_of(config), spec)
