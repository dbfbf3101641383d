"""The environment of a run: the process's own, and what a .env file adds."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from pytest_crmeval.agents.atlas.specs import models_in
from pytest_crmeval.domain.cutting import use
from pytest_crmeval.domain.redaction import Redactor, secrets_in
from pytest_crmeval.models.prices import other_addresses
from pytest_crmeval.options.reading import options_of

_READ = pytest.StashKey[str]()
"""What was wrong with the file; nothing if it was read, or is not there."""
_REDACTOR = pytest.StashKey[Redactor]()
DEFAULT = ".env"


def read_env_file(config: pytest.Config) -> str:
    """Add what the project's .env file says to the environment, once; what is set already, and not empty, stays.

    Called when a run needs a key or an address, never in a pytest run that has nothing to do with us. A file that was
    named has to be readable; one that happens to be there may be somebody else's: what is wrong with it is returned.
    """
    if _READ not in config.stash:
        named = config.getini("crmeval_env_file")
        path = config.rootpath / Path(named or DEFAULT).expanduser()
        config.stash[_READ] = problem = _export(path) if path.is_file() else ""
        if named and not path.is_file():
            raise pytest.UsageError(f"crmeval_env_file = {named!r}: there is no such file")
        if named and problem:
            raise pytest.UsageError(problem)
    return config.stash[_READ]


def redactor_of(config: pytest.Config) -> Redactor:
    """Return what takes the secrets of the environment out of all that is shown or kept."""
    if _REDACTOR not in config.stash:
        read_env_file(config)
        named = [os.environ.get(name, "") for name in _key_names(config)]
        config.stash[_REDACTOR] = redactor = Redactor([*secrets_in(os.environ), *filter(None, named)])
        use(redactor)
    return config.stash[_REDACTOR]


def addresses_of(config: pytest.Config) -> Mapping[str, str]:
    """Return the addresses of providers that the environment sets, without passwords."""
    redactor = redactor_of(config)  # it has loaded the .env file
    return {provider: redactor.text(where) for provider, where in other_addresses().items()}


def _key_names(config: pytest.Config) -> Iterator[str]:
    """Yield the variables that specs name with ?key=, whatever they are called."""
    options = options_of(config)
    specs = [spec for agent in options.agents for spec in models_in(options.spec(agent))]
    for spec in map(options.spec, [*specs, options.judge]):
        yield from (value for name, value in parse_qsl(spec.partition("?")[2]) if name == "key")


def _export(path: Path) -> str:
    """Set what is in the file; return what is wrong with it, without any value."""
    from dotenv import dotenv_values

    try:
        found = dotenv_values(path)
        for name, value in found.items():
            if value is not None and not os.environ.get(name):  # empty is how CI sets a secret that it does not have
                os.environ[name] = value
    except (OSError, ValueError) as error:  # no UTF-8; a NUL in a value
        return f"{path}: can't be read: {type(error).__name__}"
    return ""
