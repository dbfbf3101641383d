"""The agents and scorers of a process."""

from collections.abc import Sequence

from pytest_crmeval.player.context import Context, SetupError
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


def _agents(_: Context) -> dict[str, Agent]:
    return {}
