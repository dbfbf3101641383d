"""The context that players get from a pytest process, created when there is something to evaluate."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crmeval.collect.names import PROCESS
from pytest_crmeval.options.environment import read_env_file, redactor_of
from pytest_crmeval.options.once import once
from pytest_crmeval.options.reading import is_colored, is_dry_run, options_of
from pytest_crmeval.player.context import Context, Services, SetupError

if TYPE_CHECKING:
    from pytest_crmeval.ports.agent import Agent
    from pytest_crmeval.ports.sandbox import Sandbox


def context_of(config: pytest.Config) -> Context:
    """Return the context of this process; it reads the .env file."""
    return once(config, _context)


def _context(config: pytest.Config) -> Context:
    worker: dict[str, int | str] = getattr(config, "workerinput", {})

    def services() -> Services:
        process: Any = config.pluginmanager.get_plugin(PROCESS)
        found: Services = process
        return found

    return Context(
        options=options_of(config),
        redactor=redactor_of(config),
        services=services,
        make_agent=lambda spec: config.hook.pytest_crmeval_agent(config=config, spec=spec),
        make_sandbox=lambda spec: config.hook.pytest_crmeval_sandbox(config=config, spec=spec),
        worker=str(worker.get("workerid", "main")),
        workers=int(worker.get("workercount", 1)),
        root=config.rootpath,
        env_error=read_env_file(config),
        colored=is_colored(config),
        is_dry_run=is_dry_run(config),
        skips=pytest.skip.Exception,
        exits=pytest.exit.Exception,
    )


def check_subjects(config: pytest.Config) -> None:
    """Raise UsageError if an agent or the judge can't be created: an unknown model, a missing key."""
    from pytest_crmeval.player.models import check_models

    options = options_of(config)
    with usage_errors():
        check_models(context_of(config), {options.spec(name) for name in options.agents} - {"oracle"})


def our_agent(config: pytest.Config, spec: str) -> "Agent | None":
    """Create a built-in agent; None if the spec names another one."""
    from pytest_crmeval.player.models import known_agent

    with usage_errors():
        return known_agent(context_of(config), spec)


def our_sandbox(config: pytest.Config, spec: str) -> "Sandbox | None":
    """Create a built-in sandbox; None if the spec names another one."""
    from pytest_crmeval.player.sandboxes import known_sandbox

    return known_sandbox(context_of(config), spec)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn a SetupError into pytest's UsageError, which ends the run with one line."""
    try:
        yield
    except SetupError as error:
        raise pytest.UsageError(str(error)) from error
