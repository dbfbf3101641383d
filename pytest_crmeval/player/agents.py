"""The agents and scorers of a process."""

from collections import Counter
from collections.abc import Mapping, Sequence

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
                f"unknown agent {spec!r}; try oracle, mute, claude, openai:MODEL, anthropic:MODEL, "
                "atlas, module:attr, or a name from the ini setting crmeval_agents"
            )
        made[spec] = found
    return made[spec]


def subjects_of(context: Context) -> Mapping[str, str]:
    """Return the spec of each agent of the run by its name in reports.

    An agent of the user's own that is given by its spec has its own name there, unless another agent has the same.
    """
    return context.once(_subjects)


def _agents(_: Context) -> dict[str, Agent]:
    return {}


def _subjects(context: Context) -> Mapping[str, str]:
    options = context.options
    names = {given: _name_of(context, given) for given in options.agents}
    count = Counter([*CONTROLS, *names.values()])
    return {name if count[name] == 1 else given: options.spec(given) for given, name in names.items()}


def _name_of(context: Context, given: str) -> str:
    is_own = ":" in given and context.options.spec(given) == given and not asks_models(given)
    return str(agent_of(context, given).name) if is_own else given
