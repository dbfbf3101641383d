"""Names, titles, quotations and other texts of a reply that no record and no message has."""

import re
from collections.abc import Iterator

from pytest_crmeval.conversations.scorers.lexicon import CHOICES, DEEDS, FIELDS, NOUNS, OPEN, listed
from pytest_crmeval.conversations.scorers.mentions import COUNTS, MONTHS, words_of
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.subjects import KINDS, subjects
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts

_ORDINARY = listed(
    "i crm id ids ok am pm monday tuesday wednesday thursday friday saturday sunday mr mrs ms dr usd eur gbp chf "
    "closed "
    "won lost english email url pdf christmas easter eve finance new year years yes no"
).union(MONTHS, CHOICES, NOUNS, FIELDS, DEEDS, COUNTS)
"""Words in capitals that are not names."""
_FILE = re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.(?:csv|docx?|key|pdf|pptx?|txt|xlsx|zip|rar)\b")
_LACKING = listed("no neither nor without empty blank missing lacks unset")
_EMPTY = listed("empty blank missing unset")
_UNTIL = OPEN | listed("had was were until before previously other others change changed changes yet")
_FIELDS = listed("email mail phone owner title industry address")
NEAR = 6
SHORTEST = 3


def altered_quotes(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield quotations that nobody has said or written, and names of files that no record has."""
    for mention in sentence.mentions:
        if mention.sort == "quote" and sentence.sense(mention) != "open":
            for part in re.split(r"\u2026|\.\.\.", str(mention.value)):
                if len(words_of(part).split()) >= SHORTEST and not facts.has_heard(part):
                    yield f'"{part.strip()}": no record or message has this text'
    for match in _FILE.finditer(sentence.text if not sentence.asks else ""):
        if not facts.has_heard(match[0]):
            yield f'"{match[0]}": no record or message has this file'


def empty_fields(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield clauses that say that a record has no e-mail address, no owner or the like, although it has."""
    for start, end, words in sentence.clauses if not sentence.asks else ():
        negative = [n for n, word in enumerate(words) if word in _LACKING]
        if not negative or {*words} & _UNTIL:
            continue
        empty = bool({*words} & _EMPTY)
        for word in sentence.words:
            near = words.index(word.text) - negative[0] if word.text in words else -1
            if not start <= word.start < end or word.text not in _FIELDS or not (empty or 0 < near <= NEAR):
                continue
            column = FIELDS[word.text][0]
            mention = Mention("text", "", word.start, word.end, column=column)
            found = subjects(mention, sentence, facts) if column in KINDS else []
            if found and all(facts.records.rows[key].get(column) for key in found):
                has = facts.records.rows[found[0]][column]
                yield f'"{sentence.text[start:end].strip()}": {facts.records.label(found[0])} has {has}'


def unknown_names(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield words written as names that neither the dialogue nor any record has."""
    words = sentence.words
    if sentence.asks or sum(word.capital for word in words) > len(words) * 0.7:
        return
    for place, word in enumerate(words):
        raw = sentence.text[word.start : word.end]
        if (
            not word.capital
            or not raw[0].isalpha()
            or raw.isupper()
            or raw[:2] in ("I'", "I\u2019")
            or len(word.text) < SHORTEST
            or word.text in _ORDINARY
        ):
            continue
        before = sentence.text[: word.start]
        if not re.search(r"[\w,)'\u2019]\s+$", before) or facts.knows_word(word.text):
            continue
        if re.match(r"(?:\s[\w-]+){0,3}\s*:", sentence.text[word.end :]) or (
            place and words[place - 1].text in ("the", "in")
        ):
            continue
        mention = Mention("name", raw, word.start, word.end)
        if sentence.sense(mention) not in ("open", "denied"):
            start = words[place - 1].start if place else word.start
            yield f'"{sentence.text[start : word.end]}": no record or message has {raw!r}'


def untrue_texts(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield each text of a sentence that is not as a record or a message has it."""
    if sentence.asks:
        return
    yield from altered_quotes(sentence, facts)
    yield from unknown_names(sentence, facts)
    yield from empty_fields(sentence, facts)
