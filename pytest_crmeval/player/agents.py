"""The agents and scorers of a process."""

from collections.abc import Sequence

from pytest_crmeval.player.context import Context, SetupError
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.scorer import Scorer


def scorers_of(context: Context) -> Sequence[Scorer]:
    """Return the scorers that were chosen. They are for conversations; a question has a grader of its own."""
    from pytest_crmeval.conversations.scorers.named import SCORERS

    return tuple(SCORERS[name] for name in context.options.scorers)


def agent_of(context: Context, spec: str) -> Agent:
    """Return the agent that ``spec`` names, made once per process; SetupError if there is none."""
    made = context.once(_agents)
    if spec not in made:
        found = context.make_agent(spec)
        if found is None:
            raise SetupError(
                f"no plugin knows the agent {spec!r}; try oracle, mute, claude, openai:MODEL, anthropic:MODEL, "
                "atlas, module:attr, or a name from the ini setting crmeval_agents"
            )
        made[spec] = found
    return made[spec]


def _agents(_: Context) -> dict[str, Agent]:
    return {}
