"""The agents and scorers of a process."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import Lock

from pytest_crmeval.agents import CONTROLS
from pytest_crmeval.player.context import Context, SetupError
from pytest_crmeval.player.subjects import asks_models
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.scorer import Scorer


def scorers_of(context: Context) -> Sequence[Scorer]:
    """Return the configured scorers of conversations; each question has its own grader."""
    from pytest_crmeval.conversations.scorers.named import SCORERS

    return tuple(SCORERS[name] for name in context.options.scorers)


def agent_of(context: Context, spec: str) -> Agent:
    """Return the agent of ``spec``, created once per process; SetupError if no plugin knows it."""
    made = context.once(_agents)
    if spec not in made:
        found = context.make_agent(spec)
        if found is None:
            raise SetupError(
                f"unknown agent {spec!r}; names: oracle, mute, atlas, {', '.join(context.options.named_agents)} "
                "(add names in the ini setting crmeval_agents); other forms: PROVIDER:MODEL (see crmeval models), "
                "module:attr, http://HOST/PATH, exec:COMMAND"
            )
        made[spec] = found
    return made[spec]


def one_at_a_time(context: Context, agent: Agent) -> AbstractContextManager[object]:
    """Wait for an agent that is not thread-safe until no other case of this process is played with it."""
    if getattr(agent, "thread_safe", True):
        return nullcontext()
    return context.once(_locks).setdefault(id(agent), Lock())


def subjects_of(context: Context) -> Mapping[str, str]:
    """Return the spec of each agent of the run by its name in reports.

    An agent of the user's own that is given by its spec has its own name there, unless another agent has the same.
    """
    return context.once(_subjects)


def _agents(_: Context) -> dict[str, Agent]:
    return {}


def _locks(_: Context) -> dict[int, Lock]:
    return {}


def _subjects(context: Context) -> Mapping[str, str]:
    options = context.options
    # An agent of the user's own has a name of its own.
    own = {
        given for given in options.agents if ":" in given and options.spec(given) == given and not asks_models(given)
    }
    names = {given: str(agent_of(context, given).name) if given in own else given for given in options.agents}
    count = Counter([*CONTROLS, *names.values()])
    return {name if count[name] == 1 else given: options.spec(given) for given, name in names.items()}
