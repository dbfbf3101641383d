"""The environment of a run: the variables of the process, and those that a .env file adds."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from pytest_crmeval.agents.atlas.specs import models_in
from pytest_crmeval.domain.cutting import use
from pytest_crmeval.domain.redaction import Redactor, secrets_in
from pytest_crmeval.models.prices import other_addresses
from pytest_crmeval.options.given import Given
from pytest_crmeval.options.once import once_per_config
from pytest_crmeval.options.reading import options_of

DEFAULT = ".env"


@once_per_config
def read_env_file(config: pytest.Config) -> str:
    """Add the variables of the project's .env file to the environment, once; those that are set and not empty stay.

    Called when a run needs a key or an address, never in a pytest run without our tests. A file that ``env_file`` names
    must be readable. The default ``.env`` may belong to another program: its problem is returned, not raised; empty if
    there is none.
    """
    given = Given(config)
    named = given.text("env_file")
    path = config.rootpath / Path(named or DEFAULT).expanduser()
    problem = _export(path) if path.is_file() else ""
    if named and not path.is_file():
        raise pytest.UsageError(f"{given.where('env_file')}: the file does not exist")
    if named and problem:
        raise pytest.UsageError(problem)
    return problem


@once_per_config
def redactor_of(config: pytest.Config) -> Redactor:
    """Return the redactor of the secrets in the environment."""
    read_env_file(config)
    named = [os.environ.get(name, "") for name in _key_names(config)]
    redactor = Redactor([*secrets_in(os.environ), *filter(None, named)])
    use(redactor)
    return redactor


def addresses_of(config: pytest.Config) -> Mapping[str, str]:
    """Return the addresses of providers that the environment sets, without passwords."""
    redactor = redactor_of(config)  # it has loaded the .env file
    return {provider: redactor.text(where) for provider, where in other_addresses().items()}


def _key_names(config: pytest.Config) -> Iterator[str]:
    """Yield the variables that specs name with ?key=."""
    options = options_of(config)
    specs = [spec for agent in options.agents for spec in models_in(options.spec(agent))]
    for spec in map(options.spec, [*specs, options.judge]):
        yield from (value for name, value in parse_qsl(spec.partition("?")[2]) if name == "key")


def _export(path: Path) -> str:
    """Set the variables of a file; return the problem with it, without any value."""
    from dotenv import dotenv_values

    try:
        found = dotenv_values(path)
        for name, value in found.items():
            if value is not None and not os.environ.get(name):  # empty is how CI sets a secret that it does not have
                os.environ[name] = value
    except (OSError, ValueError) as error:  # not UTF-8; a NUL in a value
        return f"{path}: could not be read: {type(error).__name__}"
    return ""
