"""From a spec to an agent."""

import importlib
import re
import traceback
from difflib import get_close_matches
from urllib.parse import parse_qsl

from pytest_crmeval.agents.calling import SECONDS, as_agent, finished, is_factory, not_an_agent, wrong_arguments
from pytest_crmeval.agents.scripted import mute
from pytest_crmeval.ports.agent import Agent

_SECRET = re.compile(
    r"(?:.*[_-])?(?:api_?key|key|access_key_id|token|secret|password|passwd|passphrase|credentials?|authorization)",
    re.IGNORECASE,
)


WITH_TOOL_SERVER = "mcp+"
"""Before the spec of an agent in another process that makes its calls itself."""


class AgentUnavailable(Exception):  # noqa: N818 (reads better where it is caught)
    """The spec is valid, but the agent can't be created; the message says what to do."""


def make_agent(spec: str, seconds: float = SECONDS) -> Agent | None:
    """Return the agent of ``spec``: mute, or an object of a module, or None if it is neither.

    A class, or a function that makes the agent, is called with the parameters of the spec, as text. An agent in another
    process has so many ``seconds`` for a reply.
    """
    if spec == "mute":
        return mute()
    if spec.removeprefix(WITH_TOOL_SERVER).startswith(("http://", "https://", "exec:")):
        return _in_another_process(spec, seconds)
    path, _, query = spec.partition("?")
    module, colon, attribute = path.partition(":")
    if not colon:
        return None
    parameters = dict(parse_qsl(query))
    try:
        found = getattr(importlib.import_module(module), attribute)
        if isinstance(found, type) or parameters or is_factory(found):
            found = finished(found(**parameters))
    except Exception as error:
        raise AgentUnavailable(f"agent {spec!r}: {_described(error, module)}") from error
    agent = as_agent(found, attribute)
    if agent is None:
        raise AgentUnavailable(f"agent {spec!r} is not an agent: {not_an_agent(found)}")
    if wrong := wrong_arguments(agent):
        raise AgentUnavailable(f"agent {spec!r}: {wrong}")
    return agent


def _in_another_process(spec: str, seconds: float) -> Agent:
    from pytest_crmeval.agents.command import CommandAgent
    from pytest_crmeval.agents.http import HttpAgent

    where = spec.removeprefix(WITH_TOOL_SERVER)
    kind = CommandAgent if where.startswith("exec:") else HttpAgent
    try:
        return kind(where.removeprefix("exec:"), seconds=seconds, uses_tool_server=where != spec)
    except ValueError as error:
        raise AgentUnavailable(f"agent {spec!r}: {error}") from error


def secret_parameter(spec: str) -> str:
    """Return the first parameter that is named like a secret and is not the name of a variable; empty if none is."""
    for name, value in parse_qsl(spec.partition("?")[2], keep_blank_values=True):
        if _SECRET.fullmatch(name) and not (value.isidentifier() and value.isupper()):
            return name
    return ""


def _described(error: Exception, module: str) -> str:
    """Return the exception of the user's code, and its location."""
    if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
        return (
            f"there is no module {module!r} on the Python path; add its folder to pytest's setting pythonpath, "
            'for example pythonpath = ["."] in [tool.pytest.ini_options]; if you mean a model, crmeval models lists '
            "the providers"
        )
    places = traceback.extract_tb(error.__traceback__)
    place = [each for each in places if not each.filename.startswith("<")][-1]  # not: os, which is frozen
    if place.filename != __file__:
        return f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"
    near = get_close_matches(error.name or "", dir(error.obj), n=1) if isinstance(error, AttributeError) else []
    return f"{type(error).__name__}: {error}" + "".join(f"; did you mean {name}?" for name in near)
