"""A simulated user: a model that talks to the agent from a goal and facts, and how far it keeps to them."""

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from pytest_crmeval.conversations.play import answering, rules_of, seeded
from pytest_crmeval.conversations.scorers.groundedness import KnownValues
from pytest_crmeval.conversations.scorers.mentions import read
from pytest_crmeval.domain.conversation import Conversation, SimulatedUser
from pytest_crmeval.domain.messages import Message, Reply, agent_says, thoughts_apart, user_says
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.chat_model import ChatModel, Prompt
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.ports.scorer import Evidence, Reference

END = "[END]"
EXTRA_TURNS = 6
"""Turns that a dialogue may have beyond twice the number of turns of the answer key."""
_OPENING = "(The assistant is ready. Write your first message.)"
_SILENCE = "(The assistant said nothing.)"
_STYLE = "Short and to the point."
_SMALL = 3
"""Up to here a number may count or order things."""
_WORD = re.compile(r"[^\W\d_]\w*")
_BEGIN = frozenset(".!?:;\n-")
"""Characters after which a word is capitalised that is not a name."""
_CALENDAR = frozenset(map(str.casefold, (*calendar.day_name, *calendar.month_name)))
_NO_NAMES = _CALENDAR | {"i", "ok", "crm", "am", "pm", "asap", "fyi", "mr", "ms", "mrs", "dr", "usd", "eur", "gbp"}


class UserDeviatedError(Exception):
    """The simulated user has not kept to its goal and facts, so the trial says nothing about the agent."""


def observe_simulated(  # noqa: PLR0913 (the parts of a trial)
    conversation: Conversation,
    agent: Agent,
    crm: Crm,
    reference: Reference,
    model: ChatModel,
    *,
    max_steps: int,
    messages: list[Message],
) -> Evidence:
    """Let ``agent`` talk to the simulated user on a freshly seeded CRM; return the transcript and the final rows.

    UserDeviatedError if the model says nothing, or something that neither the case nor the agent has said.
    """
    assert conversation.user is not None  # noqa: S101 (a simulated case)
    user = _Speaker(conversation.user, model, conversation.now.date().isoformat())
    messages += rules_of(conversation)
    shown: list[Message] = []
    exchanges: list[Exchange] = []
    with (
        seeded(crm, conversation, f"agent {conversation.id}"),
        answering(agent, crm, max_steps) as answer,
    ):
        for _ in range(2 * len(conversation.turns) + EXTRA_TURNS):
            utterance = user.next(exchanges)
            if utterance == END:
                if not exchanges:
                    raise UserDeviatedError("it ended the dialogue before it said anything")
                break
            start = len(messages)
            messages.append(Message(speaker="user", text=utterance, model=str(model.identity)))
            cut = not answer(messages, shown)
            exchanges.append(Exchange(messages=tuple(messages[start:]), cut=cut))
        transcript = Transcript(exchanges=tuple(exchanges))
        return Evidence(transcript=transcript, after=crm.snapshot(), reference=reference)


def unsaid_facts(user: SimulatedUser, transcript: Transcript) -> Iterator[str]:
    """Yield the facts with values that the simulated user never mentioned."""
    said = [message.text for exchange in transcript.exchanges for message in exchange.messages[:1]]
    yield from (fact for fact in user.facts if next(invented(fact, said), None))


def invented(text: str, known: Sequence[str], today: str = "") -> Iterator[str]:
    """Yield the numbers, dates, addresses, ids and names in a text that none of the known texts contains."""
    known_values, found = KnownValues(today), read(text)
    known_values.add([user_says(each) for each in known])
    yield from known_values.unsupported(replace(found, numbers=()))
    readings = [read(each) for each in known]
    numbers = {figure.value for reading in readings for figure in reading.figures}
    for figure in dict.fromkeys(found.numbers):
        if figure.value not in numbers and (figure.value > _SMALL or figure.percent):
            yield f"{figure.value:,.10g}"
    words = {word for each in known for word in _WORD.findall(each.casefold())} | _NO_NAMES
    yield from (name for name in dict.fromkeys(_names(text)) if name.casefold() not in words)


def _names(text: str) -> Iterator[str]:
    """Yield the capitalised words that don't begin a sentence."""
    for found in _WORD.finditer(text):
        before = text[: found.start()].rstrip(" \"'(")
        if found[0][0].isupper() and before and before[-1] not in _BEGIN:
            yield found[0]


class _Speaker:
    """What the simulated user says next."""

    def __init__(self, user: SimulatedUser, model: ChatModel, today: str) -> None:
        self._user = user
        self._model = model
        self._today = today
        facts = "\n".join(f"- {fact}" for fact in user.facts) or "- nothing else"
        self._system = _prompt().format(goal=user.goal, facts=facts, style=user.style or _STYLE)

    def next(self, exchanges: Sequence[Exchange]) -> str:
        """Return the next utterance, or END; UserDeviatedError if it does not keep to the facts."""
        dialogue = [user_says(_OPENING)]
        for exchange in exchanges:
            dialogue += [agent_says(Reply(text=exchange.messages[0].text)), user_says(exchange.reply or _SILENCE)]
        completion = self._model.complete(Prompt(system=self._system, messages=dialogue))
        text = thoughts_apart(completion.reply).text.strip()
        if text.endswith(END):
            return END
        if not text:
            raise UserDeviatedError("it said nothing")
        replies = [exchange.reply for exchange in exchanges]
        known = [self._user.goal, *self._user.facts, *replies]
        if strange := list(invented(text, known, self._today)):
            raise UserDeviatedError(f"it said {', '.join(map(repr, strange))}, which is not in its facts: {text!r}")
        return text


@cache
def _prompt() -> str:
    return files(__package__).joinpath("user_prompt.md").read_text(encoding="utf-8").strip()
