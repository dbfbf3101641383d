"""The secrets in the environment of a process, without pytest."""

import os
from urllib.parse import parse_qsl

from pytest_crmeval.agents.atlas.specs import models_in
from pytest_crmeval.domain.cutting import use_redactor
from pytest_crmeval.domain.redaction import Redactor, secrets_in
from pytest_crmeval.options.values import Options


def redactor_for(options: Options) -> Redactor:
    """Return the redactor of the secrets in the environment; texts that are shortened use it from now on."""
    specs = [spec for agent in options.agents for spec in models_in(options.spec(agent))]
    parameters = [
        each for spec in map(options.spec, [*specs, options.judge]) for each in parse_qsl(spec.partition("?")[2])
    ]
    named = [os.environ.get(variable, "") for name, variable in parameters if name == "key"]
    redactor = Redactor([*secrets_in(os.environ), *filter(None, named)])
    use_redactor(redactor)
    return redactor
