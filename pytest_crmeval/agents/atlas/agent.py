"""The agent ``atlas``."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_crmeval.agents.atlas.session import AtlasSession
from pytest_crmeval.agents.atlas.specs import AtlasSpec
from pytest_crmeval.agents.chat import system_prompt
from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.ports.learner import Occasion


@dataclass(frozen=True, kw_only=True)
class Atlas:
    """A student and a teacher, who play each conversation with what they have learnt from those before."""

    name: str
    terms: AtlasSpec
    system: str = field(default_factory=system_prompt, repr=False)

    @property
    def learns(self) -> bool:
        """Whether its conversations are to be played one after the other."""
        return self.terms.learns

    def begin(self, occasion: Occasion) -> AtlasSession:
        """Return the agent for one conversation."""
        return AtlasSession(self.name, self.terms, occasion, self.system)

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Refuse: what was learnt belongs to a run, and whoever plays has to begin with it."""
        del messages, tools
        raise RuntimeError(f"{self.name} plays conversations that the evaluate fixture has begun, and no others")
