"""The turn loop."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from pytest_crmeval.agents.calling import reply_of, uses_tool_server
from pytest_crmeval.conversations.own_calls import Answering, answering_itself
from pytest_crmeval.conversations.references import output_of, resolve, resolved
from pytest_crmeval.conversations.scorers.outcome import invites_answer
from pytest_crmeval.conversations.troubled_crm import TroubledCrm
from pytest_crmeval.domain.conversation import Conversation, Turn
from pytest_crmeval.domain.messages import Message, agent_says, copy_of, crm_says, shown_to_agent, user_says
from pytest_crmeval.domain.transcript import Exchange, Fields, Outputs, Transcript, answered_in
from pytest_crmeval.models.usage_meter import current
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.crm import CallableCrm, Crm
from pytest_crmeval.ports.crm_calls import writes
from pytest_crmeval.ports.scorer import Evidence, Reference

MAX_STEPS = 20


def play_reference(conversation: Conversation, oracle: Agent, crm: Crm) -> Reference:
    """Let ``oracle``, which knows the answer key, play; return the transcript and the rows before and after it."""
    with seeded(crm, conversation):
        before = crm.snapshot()
        transcript = play(conversation, oracle, crm, outages=False)
        return Reference(transcript=transcript, before=before, after=crm.snapshot())


def observe(  # noqa: PLR0913 (the parts of a trial)
    conversation: Conversation,
    agent: Agent,
    crm: Crm,
    reference: Reference,
    *,
    max_steps: int = MAX_STEPS,
    messages: list[Message] | None = None,
) -> Evidence:
    """Let ``agent`` play on a freshly seeded CRM, and return the transcript and the final rows.

    The ids of new rows are the same each time, so that a recorded dialogue can be replayed, and differ from those of
    the reference.
    """
    with seeded(crm, conversation, f"agent {conversation.id}"):
        known = reference.transcript.outputs
        transcript = play(conversation, agent, crm, max_steps=max_steps, known=known, messages=messages)
        return Evidence(transcript=transcript, after=crm.snapshot(), reference=reference)


def play(  # noqa: PLR0913 (three are optional)
    conversation: Conversation,
    agent: Agent,
    crm: Crm,
    *,
    max_steps: int = MAX_STEPS,
    known: Outputs | None = None,
    messages: list[Message] | None = None,
    outages: bool = True,
) -> Transcript:
    """Play every turn of ``conversation`` on a seeded ``crm`` and return the transcript.

    ``known`` has the outputs of the reference, for turns that the agent skips although the user refers to them later.
    ``messages`` is an empty list that receives the dialogue as it grows, so that it is not lost if the play fails.
    Without ``outages``, each call gets an answer.
    """
    messages = [] if messages is None else messages
    messages += rules_of(conversation)
    shown: list[Message] = []
    exchanges: list[Exchange] = []
    outputs: dict[int, Fields] = {}
    troubled = TroubledCrm(crm, conversation, outages=outages)
    with answering(agent, troubled if conversation.trouble else crm, max_steps) as answer:
        for number, turn in enumerate(conversation.turns, start=1):
            start = len(messages)
            troubled.begin_turn(number)
            messages.append(user_says(str(resolve(_utterance(turn, exchanges), outputs))))
            cut = not answer(messages, shown)
            said = tuple(messages[start:])
            output = output_of(answered_in(said), resolved(turn.expectation.call, outputs), (known or {}).get(number))
            if output is not None:
                outputs[number] = output
            exchanges.append(Exchange(messages=said, cut=cut, output=output))
    return Transcript(exchanges=tuple(exchanges))


def seeded(crm: Crm, conversation: Conversation, salt: str = "") -> AbstractContextManager[None]:
    """Have the rows, the clock and the pages of a conversation in the CRM."""
    if conversation.page_size:
        return crm.seeded(conversation.seed, conversation.now, salt, conversation.page_size)
    return crm.seeded(conversation.seed, conversation.now, salt)


def rules_of(conversation: Conversation) -> list[Message]:
    """Return the message with the rules of the company, if there are any."""
    return [Message(speaker="system", text=conversation.policy)] if conversation.policy else []


def _utterance(turn: Turn, played: Sequence[Exchange]) -> str:
    """Return what the user says, which may depend on what the agent did in the turn before."""
    last = played[-1] if played else None
    if last and turn.if_written and any(writes(call.tool) and not result.refused for call, result in last.calls):
        return turn.if_written
    if last and turn.if_not_asked and not invites_answer(last.reply):
        return turn.if_not_asked
    return turn.utterance


@contextmanager
def answering(agent: Agent, crm: CallableCrm, max_steps: int) -> Iterator[Answering]:
    """Yield how the agent answers: with calls that are made for it, or with those that it makes itself."""
    if uses_tool_server(agent):
        with answering_itself(agent, crm, max_steps) as answer:
            yield answer
    else:
        yield lambda messages, shown: _answer(messages, shown, agent, crm, max_steps)


def _answer(messages: list[Message], shown: list[Message], agent: Agent, crm: CallableCrm, max_steps: int) -> bool:
    """Let the agent call tools until it replies; return False if its steps run out before.

    The agent is ``shown`` copies of ``messages``, so that it cannot change what is scored.
    """
    for _ in range(max_steps):
        shown += map(shown_to_agent, messages[len(shown) :])
        reply = reply_of(agent, tuple(shown), crm.tools)
        current().record_reply(reply)
        messages.append(copy_of(agent_says(reply)))
        if not reply.calls:
            return True
        messages.append(crm_says([crm.call(call) for call in messages[-1].calls]))
    return False
