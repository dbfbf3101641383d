"""Utterances for intents: wordings from the files in ``phrases``, voices, and typing mistakes."""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pytest_crmeval.conversations.generator.intents import Slot
from pytest_crmeval.conversations.generator.naming import Referent
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom

VOICES = ("plain", "terse", "chatty", "indirect")
_SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
_CHOICE = re.compile(r"\[([^\[\]{}]*(?:\{[\w.]+\}[^\[\]{}]*)*)\]")
_IN_TURN = re.compile(r"<([^<>|]*(?:\|[^<>|]*)+)>")
"""Said one after the other, so that none is heard often. Nothing is drawn, so that all other words stay the same."""
_LONG = re.compile(r"(?<![\w@.'-])[a-z]{5,}(?![\w@.'-])")
"""A word that can be mistyped without being a name or a value."""
_PLAIN = re.compile(r"[a-z][a-z'-]*[,:;.!?]?(?:\s|$)")
_MEANT = re.compile(
    r"draft|sen[dt]|approv|reject|cancel|clos|(?:de|re|in)?activ|prospect|qualif|propos|negot|pend|expir|sign"
    r"|partner|vendor|compet|hal[fv]|doubl|tripl|twice|third|quarter|fifth|tenth|percent|today|week|month|year|days"
    r"|forget|besid|addition|apart|while|since"
)
"""Beginnings of words that stand for a value or connect two requests."""
_OF_IT = re.compile(
    r"\b(?:[Tt]he )?(?P<what>[Aa]mount|(?:close|end|expiry|start) date|name|notes field|owner|prefix|probability|price"
    r"|[Ss]tage|[Ss]tatus|total|value|validity|version(?: number)?|title|phone(?: number)?|e-mail(?: address)?|address)"
    r" of (?P<whom>it|them|him|her)(?=[.,;:!?]|$| (?:to|is|are|was|should|has|now|by|from|at|as|and|for|up|down|in)\b)"
)
_OWN = {"it": "its", "them": "their", "him": "his", "her": "her"}
_OWN_CAPITAL = re.compile(r"I\b|[A-Z]{2}|OK\b")
"""Words that are capitalized everywhere."""
_EXCLAIMS = re.compile(r"(?:[A-Z]\w+[,!.]|[^.?!]*!) ")
"""Begins with an interjection: OK, this one is for the files."""
_HEADING = re.compile(r"\{(\w+)\}\s*[:=/,-]")
_BEGINS = re.compile(r"[.!?]\s+$")
TRIES = 3
LONG = 4
"""Spaces in a name that is too long for a possessive."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A template for an utterance, with slots."""

    text: str
    voice: str

    @property
    def slots(self) -> frozenset[str]:
        """The slots outside of alternatives."""
        fixed = _CHOICE.sub(" ", self.text)
        return frozenset(match[1] for match in _SLOT.finditer(fixed))

    @property
    def all_slots(self) -> frozenset[str]:
        """The slots, also those in alternatives."""
        return frozenset(match[1] for match in _SLOT.finditer(self.text))


@cache
def banks() -> Mapping[str, Sequence[Wording]]:
    """Return all wordings by name."""
    found: dict[str, tuple[Wording, ...]] = {}
    for file in sorted(files(__package__).joinpath("phrases").iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml"):
            for name, voices in tomllib.loads(file.read_text(encoding="utf-8")).items():
                if name in found:
                    raise ValueError(f"{file.name}: {name} has wordings elsewhere already")
                found[name] = tuple(Wording(text, voice) for voice, texts in voices.items() for text in texts)
    return found


class Speech:
    """Chooses wordings; those that were used often are used less."""

    def __init__(self) -> None:
        self.said: Counter[Wording] = Counter()
        """How often each wording was used."""
        self.voice = ""
        """The voice of the last wording."""

    def say(  # noqa: PLR0913 (two of them have defaults)
        self,
        chance: SeededRandom,
        name: str,
        slots: Mapping[str, Slot],
        voice: str,
        *,
        optional: Collection[str] = (),
        inside: bool = False,
    ) -> str:
        """Return an utterance with all slots that are not optional; ``inside`` another one it begins in lower case."""
        must = {
            slot
            for slot, value in slots.items()
            if slot not in optional and not (isinstance(value, Referent) and value.known)
        }
        fitting = [one for one in banks()[name] if must <= one.slots and one.all_slots <= slots.keys()]
        fitting = [
            one for one in fitting if not (_is_clumsy(one, slots) or (inside and _EXCLAIMS.match(one.text)))
        ] or fitting
        if not fitting:
            raise LookupError(f"no wording of {name} says {sorted(must)} and nothing but {sorted(slots)}")
        own = [one for one in fitting if one.voice == voice]
        usual = own if own and chance.chance(0.8) else fitting
        wording = min(chance.some(usual, TRIES), key=lambda one: self.said[one])
        self.said[wording] += 1
        self.voice = wording.voice
        text = _IN_TURN.sub(lambda match: _in_turn(match[1].split("|"), self.said[wording]), wording.text)
        while match := _CHOICE.search(text):
            text = text[: match.start()] + chance.one_of(match[1].split("|")) + text[match.end() :]
        if inside and not _OWN_CAPITAL.match(text):
            text = text[:1].lower() + text[1:]
        said = _SLOT.sub(lambda match: _form(match, slots[match[1]]), text).strip()
        said = _OF_IT.sub(_owned, said)
        return said if inside else capitalized(said)


def _in_turn(texts: Sequence[str], time: int) -> str:
    return texts[time % len(texts)]


def _is_clumsy(wording: Wording, slots: Mapping[str, Slot]) -> bool:
    """Whether a pronoun would be used as a heading (It: approved), or a long name as a possessive."""
    heading = _HEADING.match(wording.text)
    named = slots[heading[1]] if heading else ""
    if isinstance(named, Referent) and "pronoun" in named.skills:
        return True
    owners = [slots[match[1]] for match in _SLOT.finditer(wording.text) if match[2] == "own"]
    return any(isinstance(owner, Referent) and owner.own.count(" ") > LONG for owner in owners)


def _owned(match: re.Match[str]) -> str:
    """Return its amount for the amount of it."""
    said = f"{_OWN[match['whom']]} {match['what'].lower()}"
    return capitalized(said) if match[0][0].isupper() else said


def _form(match: re.Match[str], value: Slot) -> str:
    """Return the text for a slot, capitalized at the start of a sentence."""
    said = value if isinstance(value, str) else str(getattr(value, match[2] or "object"))
    return capitalized(said) if _BEGINS.search(match.string, 0, match.start()) else said


def capitalized(text: str) -> str:
    """Return a text capitalized, unless it starts with an address or a file name."""
    return text[:1].upper() + text[1:] if _PLAIN.match(text) else text


def mistyped(chance: SeededRandom, text: str, kept: Sequence[str]) -> str:
    """Return a text with one or two typing mistakes, none of them in the texts to be ``kept``."""
    spans = [match.span() for value in kept for match in re.finditer(re.escape(value), text, re.IGNORECASE)]
    words = [
        match.span()
        for match in _LONG.finditer(text)
        if not _MEANT.match(match[0]) and not any(start < match.end() and match.start() < end for start, end in spans)
    ]
    for start, end in sorted(chance.some(words, chance.between(1, 2)), reverse=True):
        text = text[:start] + _slip(chance, text[start:end]) + text[end:]
    return text


def _slip(chance: SeededRandom, word: str) -> str:
    at = chance.between(1, len(word) - 2)
    return chance.one_of(
        (
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[: at + 1] + word[at] + word[at + 1 :],
        )
    )
