"""Texts of a reply that no record and no message has: quotations and names."""

import re
from collections.abc import Iterator

from pytest_crmeval.conversations.scorers.lexicon import CHOICES, DEEDS, FIELDS, NOUNS, listed
from pytest_crmeval.conversations.scorers.mentions import COUNTS, MONTHS, words_of
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts

_ORDINARY = listed(
    "i crm id ids ok am pm monday tuesday wednesday thursday friday saturday sunday mr mrs ms dr usd eur gbp chf "
    "closed won lost english email url pdf christmas easter eve finance new year years yes no"
).union(MONTHS, CHOICES, NOUNS, FIELDS, DEEDS, COUNTS)
"""Words in capitals that are not names."""
_FILE = re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.(?:csv|docx?|key|pdf|pptx?|txt|xlsx|zip|rar)\b")
SHORTEST = 3


def untrue_texts(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield each text of a sentence that is not as a record or a message has it."""
    if not sentence.asks:
        yield from _altered_quotes(sentence, facts)
        yield from _unknown_names(sentence, facts)


def _altered_quotes(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield quotations that no message and no record contains, and names of files that no record has."""
    quotes = [m for m in sentence.mentions if m.sort == "quote" and sentence.sense(m) != "open"]
    parts = [part for quote in quotes for part in re.split(r"\u2026|\.\.\.", str(quote.value))]
    parts = [part.strip() for part in parts if len(words_of(part).split()) >= SHORTEST]
    for text in (*parts, *_FILE.findall(sentence.text)):
        if not facts.has_heard(text):
            yield f'"{text}": no record or message has this text'


def _unknown_names(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield words written as names that neither the dialogue nor any record has."""
    words = sentence.words
    for last, word in zip((None, *words), words, strict=False):
        raw = sentence.text[word.start : word.end]
        plain = (
            word.text in _ORDINARY or len(word.text) < SHORTEST or raw.isupper() or raw.startswith(("I'", "I\u2019"))
        )
        if plain or not (word.capital and raw[0].isalpha()) or facts.knows_word(word.text):
            continue
        starts = not re.search(r"[\w,)'\u2019]\s+$", sentence.text[: word.start])
        label = re.match(r"(?:\s[\w-]+){0,3}\s*:", sentence.text[word.end :])
        if not starts and not label and (last is None or last.text not in ("the", "in")):
            said = sentence.text[(last or word).start : word.end]
            if sentence.sense(Mention("name", raw, word.start, word.end)) not in ("open", "denied"):
                yield f'"{said}": no record or message has {raw!r}'
