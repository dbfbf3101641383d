"""From a spec to an agent."""

import importlib
import re
import traceback
from collections.abc import Mapping
from urllib.parse import parse_qsl

from pytest_crmeval.agents.scripted import mute
from pytest_crmeval.ports.agent import Agent

_SECRET = re.compile(
    r"(?:.*[_-])?(?:api_?key|key|access_key_id|token|secret|password|passwd|passphrase|credentials?|authorization)",
    re.IGNORECASE,
)


class AgentUnavailable(Exception):  # noqa: N818 (reads better where it is caught)
    """The spec is understood, but the agent can't be had; the message says what to do."""


def make_agent(spec: str) -> Agent | None:
    """Return the agent that ``spec`` names; None if nobody here knows it."""
    if spec == "mute":
        return mute()
    path, _, parameters = spec.partition("?")
    module, colon, attribute = path.partition(":")
    return _imported(spec, module, attribute, dict(parse_qsl(parameters))) if colon else None


def secret_parameter(spec: str) -> str:
    """Return the first parameter with a name like a secret whose value is not the name of a variable; else empty."""
    for name, value in parse_qsl(spec.partition("?")[2], keep_blank_values=True):
        if _SECRET.fullmatch(name) and not (value.isidentifier() and value.isupper()):
            return name
    return ""


def _imported(spec: str, module: str, attribute: str, parameters: Mapping[str, str]) -> Agent:
    """Return an object as it is, or make one of a class; the parameters of the spec are its arguments, as text."""
    try:
        found = getattr(importlib.import_module(module), attribute)
        agent = found(**parameters) if isinstance(found, type) or parameters else found
    except Exception as error:
        raise AgentUnavailable(f"agent {spec!r}: {_told(error, module)}") from error
    if not isinstance(agent, Agent):
        raise AgentUnavailable(f"agent {spec!r} has no name and reply(messages, tools): it is no agent")
    return agent


def _told(error: Exception, module: str) -> str:
    """Say what the user's own code, which may raise anything, has raised, and where."""
    if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
        return f"there is no module {module!r} on the Python path"
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = "" if place.filename == __file__ else f" ({place.filename}:{place.lineno})"
    return f"{type(error).__name__}: {error}{where}"
