"""The turn loop."""

from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.messages import Message, agent_says, crm_says, user_says
from pytest_crmeval.domain.references import outputs_of, resolve
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.crm import Crm

MAX_STEPS = 20


def play(conversation: Conversation, agent: Agent, crm: Crm, *, max_steps: int = MAX_STEPS) -> Transcript:
    """Play every turn of ``conversation`` on a seeded ``crm`` and return the transcript."""
    messages: list[Message] = []
    exchanges = []
    for turn in conversation.turns:
        start = len(messages)
        messages.append(user_says(str(resolve(turn.utterance, outputs_of(messages)))))
        cut = not _answer(messages, agent, crm, max_steps)
        exchanges.append(Exchange(messages=tuple(messages[start:]), cut=cut))
    return Transcript(exchanges=tuple(exchanges))


def _answer(messages: list[Message], agent: Agent, crm: Crm, max_steps: int) -> bool:
    """Let the agent call until it speaks; False when its steps run out first."""
    for _ in range(max_steps):
        reply = agent.reply(tuple(messages), crm.tools)
        messages.append(agent_says(reply))
        if not reply.calls:
            return True
        messages.append(crm_says([crm.call(call) for call in reply.calls]))
    return False
