"""Rules of the playbook, independent of any model: which entries are accepted, used and dropped."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.learning import REPLY, EntryUse, PlaybookEntry, words
from pytest_crmeval.domain.messages import Message
from pytest_crmeval.domain.transcript import answered_in
from pytest_crmeval.ports.crm_calls import TOOL_ALIASES

SHORTEST_CUE, LONGEST_CUE, MOST_CUES = 3, 40, 6
SHORTEST_ACTION, LONGEST_ACTION = 12, 200
LONGEST_TEXT, LONGEST_NOTES = 200, 600
TRIED = 10
"""Conversations after which the use of an entry is checked."""
RARE = 0.05
"""Minimum share of conversations with its cue."""
HEARD = 5
"""Conversations with its cue, and as many without, after which rewards are compared."""
HARM = -0.05
"""An entry is dropped when conversations with its cue are rewarded by so much less than the others."""
SHORTEST_VALUE = 4
_PARTICULARS = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}"  # the beginning of an id
    r"|[\w.+-]+@[\w-]+\.\w"  # an e-mail address
    r"|\d{4}-\d{2}-\d{2}"  # a day
    r"|\d[\d.,]{3,}",  # an amount
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryContext:
    """The conversation that an entry is checked against."""

    tools: Collection[str]
    values: Collection[str]
    """The arguments of its calls, without words of the tools' own descriptions."""
    utterances: Sequence[str]


def objection(entry: PlaybookEntry, playbook: Playbook, context: EntryContext, most: int) -> str:
    """Return why an entry is not accepted; empty if it is."""
    texts = (entry.action, entry.effect, entry.scope, *entry.cue)
    if found := _wrong_form(entry, context) or particulars(texts, context):
        return found
    for known in playbook.entries:
        if words(known.action) == words(entry.action):
            return f"already in the playbook: {known.id}"
    return "the playbook is full" if len(playbook.practices) >= most else ""


def ineffective(playbook: Playbook) -> Mapping[str, str]:
    """Return the entries that are dropped, and why: their cue is rare, or conversations with it are rewarded less."""
    found = {}
    for practice in playbook.practices:
        gain, compared = practice.gain, min(practice.heard.count, practice.unheard.count) >= HEARD
        if practice.since >= TRIED and practice.fired < RARE * practice.since:
            found[practice.entry.id] = f"its cue matched in {practice.fired} of {practice.since} conversations"
        elif compared and gain is not None and gain < HARM:
            found[practice.entry.id] = f"conversations with its cue score {-gain:.2f} lower"
    return found


def values_in(messages: Sequence[Message], described: str) -> frozenset[str]:
    """Return the texts in arguments of calls, without words of the tools' descriptions (``described``)."""
    found = (leaf for message in messages for call in message.calls for leaf in _leaves(call.arguments))
    known = words(described)
    return frozenset(text for leaf in found if len(text := words(leaf)) >= SHORTEST_VALUE and text not in known)


def _wrong_form(entry: PlaybookEntry, context: EntryContext) -> str:
    """Return what is wrong with the length, the cue, the action or the tool of an entry; empty if nothing is."""
    if len(entry.action) > LONGEST_ACTION:
        return f"length: the action has more than {LONGEST_ACTION} characters"
    for name in ("effect", "scope"):
        if len(getattr(entry, name)) > LONGEST_TEXT:
            return f"length: the {name} has more than {LONGEST_TEXT} characters"
    fits = [len(words(phrase)) >= SHORTEST_CUE and len(phrase) <= LONGEST_CUE for phrase in entry.cue]
    if not 1 <= len(fits) <= MOST_CUES or not all(fits):
        return f"cue: must be 1 to {MOST_CUES} words or phrases of {SHORTEST_CUE} to {LONGEST_CUE} characters"
    if not any(map(entry.fires, context.utterances)):
        return "cue: the user did not say it in this conversation"
    if len(entry.action) < SHORTEST_ACTION or not entry.effect:
        return "actionability: say what to do, and what for"
    return "" if entry.tool in {*context.tools, REPLY} else f"actionability: there is no tool {cut(entry.tool, 40)!r}"


def particulars(texts: Sequence[str], context: EntryContext) -> str:
    """Return why texts do not apply to other conversations; empty if they do."""
    if found := next((match[0] for text in texts if (match := _PARTICULARS.search(text))), ""):
        return f"generality: {found!r} is specific to one conversation"
    said = f" {' '.join(map(words, texts))} "
    named = sorted(value for value in context.values if f" {value} " in said)
    return f"generality: {cut(named[0], 40)!r} is specific to one conversation" if named else ""


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value


def uses_in(playbook: Playbook, messages: Sequence[Message]) -> Mapping[str, EntryUse]:
    """Return how often the cue of each entry fired, its tool was called, and all those calls were refused.

    Entries whose cue did not fire are absent.
    """
    starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
    turns = [messages[start:end] for start, end in zip(starts, [*starts[1:], len(messages)], strict=True)]
    found = {}
    for entry in playbook.entries:
        # For each turn with the cue: for each call of the entry's tool, whether the CRM did it.
        made = [
            [
                not result.refused
                for call, result in answered_in(turn)
                if TOOL_ALIASES.get(call.tool, call.tool) == entry.tool
            ]
            for turn in turns
            if entry.fires(turn[0].text)
        ]
        if made:
            found[entry.id] = EntryUse(
                hits=len(made),
                adoptions=sum(any(results) for results in made),
                failures=sum(bool(results) and not any(results) for results in made),
            )
    return found
