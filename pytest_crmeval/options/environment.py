"""The environment of a run: the variables of the process, and those that a .env file adds."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.models.env_file import DEFAULT, export
from pytest_crmeval.models.prices import other_addresses
from pytest_crmeval.options.given import Given
from pytest_crmeval.options.once import once_per_config
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.options.secrets import redactor_for


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
    problem = export(path) if path.is_file() else ""
    if named and not path.is_file():
        raise pytest.UsageError(f"{given.where('env_file')}: the file does not exist")
    if named and problem:
        raise pytest.UsageError(problem)
    return problem


@once_per_config
def redactor_of(config: pytest.Config) -> Redactor:
    """Return the redactor of the secrets in the environment."""
    read_env_file(config)
    return redactor_for(options_of(config))


def addresses_of(config: pytest.Config) -> Mapping[str, str]:
    """Return the addresses of providers that the environment sets, without passwords."""
    redactor = redactor_of(config)  # it has loaded the .env file
    return {provider: redactor.text(where) for provider, where in other_addresses().items()}
