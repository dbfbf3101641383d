"""Roles with scripted answers that record their requests."""

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_crmeval.agents.atlas.agent import AtlasSession
from pytest_crmeval.agents.atlas.specs import AtlasSpec
from pytest_crmeval.agents.learner import ReviewedProposal, SessionSetup
from pytest_crmeval.agents.playbook import Playbook, Practice
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.learning import PlaybookEntry, Reward
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, user_says
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.ports.chat_model import Completion, ModelIdentity, Prompt

TOOLS = (
    Tool(name="create_client", description="Make a client.", parameters={"type": "object"}),
    Tool(name="client_search", description="Find clients.", parameters={"type": "object"}),
)
WRITE = Reply(calls=[ToolCall(tool="create_client", arguments={"name": "Harbor Foods"})])
BETTER = Reply(calls=[ToolCall(tool="create_client", arguments={"name": "Harbor Foods", "status": "Active"})])
LOOK = Reply(calls=[ToolCall(tool="client_search", arguments={"name": "Harbor Foods"})])
ASKED = (user_says("Add Harbor Foods, please."),)
APPROVE: Mapping[str, Json] = {"verdict": "approve", "guidance": ""}
CORRECT: Mapping[str, Json] = {"verdict": "correct", "guidance": "The status is missing."}
TAKE_OVER: Mapping[str, Json] = {
    "verdict": "take_over",
    "calls": [{"tool": "create_client", "arguments": {"name": "Harbor Foods", "status": "Active"}}],
}
GOOD: Mapping[str, Json] = {"reason": "all done", "score": 90, "uncertainty": 10}
NOTHING: Mapping[str, Json] = {"entries": [], "drop": [], "student_notes": "", "teacher_notes": ""}


class Role:
    """A model that gives its answers one after the other, the last one for ever."""

    identity = ModelIdentity(provider="openai", model="m")

    def __init__(self, *answers: Reply | Mapping[str, Json] | Exception, form: str = "") -> None:
        self._answers = list(answers)
        self._form = form
        self.prompts: list[Prompt] = []

    def complete(self, prompt: Prompt) -> Completion:
        """Recite; a mapping is the arguments of the call that was asked for."""
        self.prompts.append(prompt)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        if not isinstance(answer, Reply):
            answer = Reply(calls=[ToolCall(tool=prompt.must_call, arguments=answer)])
        return Completion(reply=answer, usage=Usage(calls=1))


class Log:
    """Remembers what happened."""

    def __init__(self) -> None:
        self.attempts: list[ReviewedProposal] = []
        self.rewards: list[Reward] = []

    def attempted(self, attempt: ReviewedProposal) -> None:
        """Note a review."""
        self.attempts.append(attempt)

    def rewarded(self, reward: Reward) -> None:
        """Note a reward."""
        self.rewards.append(reward)


class School:
    """All roles of one conversation."""

    def __init__(self, terms: str = "atlas", **roles: Role) -> None:
        self.roles: dict[str, Role] = {
            "student": Role(WRITE),
            "teacher": Role(APPROVE),
            "reward": Role(GOOD),
            "arbiter": Role(GOOD),
            "learner": Role(NOTHING),
            **roles,
        }
        self.log = Log()
        self._terms = AtlasSpec.parse(terms)

    def begin(self, playbook: Playbook | None = None, *, held_out: bool = False) -> AtlasSession:
        """Begin a conversation."""
        setup = SessionSetup(
            key="crm/atlas",
            student="openai:m",
            playbook=playbook or Playbook(),
            held_out=held_out,
            models=self.roles,
            log=self.log,
        )
        return AtlasSession("atlas", self._terms, setup, "You work in a CRM.")

    def asked(self, role: str) -> int:
        """Return how often a role was asked."""
        return len(self.roles[role].prompts)

    def shown(self, role: str) -> str:
        """Return all that a role was last shown."""
        prompt = self.roles[role].prompts[-1]
        return "\n".join([prompt.system, *(message.text for message in prompt.messages)])


def entry(name: str = "p1.1", **changes: Any) -> PlaybookEntry:  # noqa: ANN401 (of an entry)
    """Return something to remember."""
    given: dict[str, Any] = {
        "cue": ("add",),
        "action": "Give create_client the status that the user names.",
        "tool": "create_client",
        "effect": "no status is forgotten",
        "scope": "new clients",
    }
    return PlaybookEntry(id=name, **{**given, **changes})


def playbook(*entries: PlaybookEntry, **changes: Any) -> Playbook:  # noqa: ANN401 (of a playbook)
    """Return a playbook with so many entries."""
    return Playbook(practices=tuple(Practice.of(each) for each in entries), **changes)


def said(messages: Sequence[Message]) -> str:
    """Return the words of a dialogue."""
    return " ".join(message.text for message in messages)
