"""What may go into a playbook, and what has to go: rules of ours, whatever a model thinks."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.learning import REPLY, Entry, words
from pytest_crmeval.domain.messages import Message
from pytest_crmeval.domain.playbook import Playbook, Practice

SHORTEST_CUE, LONGEST_CUE, MOST_CUES = 3, 40, 6
SHORTEST_ACTION, LONGEST_ACTION = 12, 200
LONGEST_TEXT, LONGEST_NOTES = 200, 600
TRIED = 10
"""Conversations after which an entry has to have been of use."""
RARE = 0.05
"""Share of conversations in which its cue has to have been heard by then."""
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
class Context:
    """What an entry is held against."""

    tools: Collection[str]
    values: Collection[str]
    """What the calls of the conversation were made with, and nothing that a tool's own description names."""
    utterances: Sequence[str]


def objection(entry: Entry, playbook: Playbook, context: Context, most: int) -> str:
    """Return why an entry is not taken; nothing if it is."""
    found = (
        _too_long(entry)
        or _no_cue(entry, context)
        or _no_action(entry, context)
        or _too_particular(entry, context)
        or _known(entry, playbook)
    )
    return found or ("the playbook is full" if len(playbook.practices) >= most else "")


def note_objection(text: str, context: Context) -> str:
    """Return why a note is not taken; nothing if it is."""
    return _particulars([text], context)


def ineffective(playbook: Playbook) -> Mapping[str, str]:
    """Return which entries have to go, and why."""
    found = ((practice.entry.id, _uselessness(practice)) for practice in playbook.practices)
    return {name: why for name, why in found if why}


def values_in(messages: Sequence[Message], described: str) -> frozenset[str]:
    """Return what calls were made with: names, words; not what a tool's description has for everybody."""
    found = (leaf for message in messages for call in message.calls for leaf in _leaves(call.arguments))
    known = words(described)
    return frozenset(text for leaf in found if len(text := words(leaf)) >= SHORTEST_VALUE and text not in known)


def _too_long(entry: Entry) -> str:
    if len(entry.action) > LONGEST_ACTION:
        return f"length: the action has more than {LONGEST_ACTION} characters"
    long = [name for name in ("effect", "scope") if len(getattr(entry, name)) > LONGEST_TEXT]
    return f"length: the {long[0]} has more than {LONGEST_TEXT} characters" if long else ""


def _no_cue(entry: Entry, context: Context) -> str:
    fits = [len(words(phrase)) >= SHORTEST_CUE and len(phrase) <= LONGEST_CUE for phrase in entry.cue]
    if not 1 <= len(fits) <= MOST_CUES or not all(fits):
        return f"cue: give 1 to {MOST_CUES} words or phrases of {SHORTEST_CUE} to {LONGEST_CUE} characters"
    return "" if any(map(entry.fires, context.utterances)) else "cue: the user of this conversation has not said it"


def _no_action(entry: Entry, context: Context) -> str:
    if len(entry.action) < SHORTEST_ACTION or not entry.effect:
        return "actionability: say what to do, and what for"
    return "" if entry.tool in {*context.tools, REPLY} else f"actionability: there is no tool {cut(entry.tool, 40)!r}"


def _too_particular(entry: Entry, context: Context) -> str:
    return _particulars((entry.action, entry.effect, entry.scope, *entry.cue), context)


def _particulars(texts: Sequence[str], context: Context) -> str:
    """Return why texts don't hold for other conversations; nothing if they do."""
    if found := next((match[0] for text in texts if (match := _PARTICULARS.search(text))), ""):
        return f"generality: {found!r} is of one conversation only"
    said = f" {' '.join(map(words, texts))} "
    named = sorted(value for value in context.values if f" {value} " in said)
    return f"generality: {cut(named[0], 40)!r} is of one conversation only" if named else ""


def _known(entry: Entry, playbook: Playbook) -> str:
    alike = [known.id for known in playbook.entries if words(known.action) == words(entry.action)]
    return f"it is known already: {alike[0]}" if alike else ""


def _uselessness(practice: Practice) -> str:
    if practice.since >= TRIED and practice.fired < RARE * practice.since:
        return f"its cue was heard in {practice.fired} of {practice.since} conversations"
    gain = practice.gain
    compared = min(practice.heard.count, practice.unheard.count) >= HEARD
    if compared and gain is not None and gain < HARM:
        return f"conversations with its cue are rewarded by {-gain:.2f} less"
    return ""


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value
