"""The context of a pytest process: what players need of it, made when there is something to evaluate."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_crmeval.collect.keys import SERVICES
from pytest_crmeval.options.environment import read_env_file, redactor_of
from pytest_crmeval.options.reading import is_colored, is_dry_run, options_of
from pytest_crmeval.player.context import Context, SetupError

_CONTEXT = pytest.StashKey[Context]()


def context_of(config: pytest.Config) -> Context:
    """Return the context of this process; it reads the .env file."""
    if _CONTEXT not in config.stash:
        worker: dict[str, int | str] = getattr(config, "workerinput", {})
        config.stash[_CONTEXT] = Context(
            options=options_of(config),
            redactor=redactor_of(config),
            services=lambda: config.stash[SERVICES](),  # noqa: PLW0108 (pytest may not be configured yet)
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
    return config.stash[_CONTEXT]


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn a SetupError into pytest's UsageError, which ends the run with one line."""
    try:
        yield
    except SetupError as error:
        raise pytest.UsageError(str(error)) from error
