"""Texts of a reply that no record and no message has: quotations, names, and what fields are said to hold."""

import re
from collections.abc import Iterator

from pytest_crmeval.conversations.scorers.lexicon import CHOICES, DEEDS, FIELDS, NOUNS, OPEN, listed
from pytest_crmeval.conversations.scorers.mentions import COUNTS, MONTHS, words_of
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.turn_facts import KINDS, TurnFacts, subjects

_ORDINARY = listed(
    "i crm id ids ok am pm monday tuesday wednesday thursday friday saturday sunday mr mrs ms dr usd eur gbp chf "
    "closed won lost english email url pdf christmas easter eve finance new year years yes no"
).union(MONTHS, CHOICES, NOUNS, FIELDS, DEEDS, COUNTS)
"""Words in capitals that are not names."""
_FILE = re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.(?:csv|docx?|key|pdf|pptx?|txt|xlsx|zip|rar)\b")
_FIELDS = listed("email mail phone owner title industry notes")
_LACKING = listed("no neither nor without empty blank missing lacks unset")
_UNTIL = OPEN | listed("had was were until before previously other others change changed changes yet")
_LABEL = re.compile(
    r":\s+(?P<label>[^:]+?)(?=, [A-Z][\w -]{0,20}: |$)"
    r"|(?:\s(?:is|to|now|reads|as|field|says)){0,3}\s(?P<text>[A-Z][\w&-]+(?:\s(?:(?:of|and|&)\s)?[A-Z][\w&-]+)*)"
)
"""What a field is said to hold: 'Industry: Shipping', 'title is now Chief Clerk'."""
_NOT_SET = re.compile(r"(?:none|no|nothing|empty|blank|not|unset|unassigned)\b|n/a|[-(\u2013\u2014]", re.IGNORECASE)
NEAR = 6
SHORTEST = 3


def untrue_texts(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield each text of a sentence that is not as a record or a message has it."""
    if not sentence.asks:
        yield from _altered_quotes(sentence, facts)
        yield from _wrong_fields(sentence, facts)
        yield from _unknown_names(sentence, facts)


def _altered_quotes(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield quotations that no message and no record contains, and names of files that no record has."""
    quotes = [m for m in sentence.mentions if m.sort == "quote" and sentence.sense(m) != "open"]
    parts = [part for quote in quotes for part in re.split(r"\u2026|\.\.\.", str(quote.value))]
    parts = [part.strip() for part in parts if len(words_of(part).split()) >= SHORTEST]
    for text in (*parts, *_FILE.findall(sentence.text)):
        if not facts.has_heard(text):
            yield f'"{text}": no record or message has this text'


def _wrong_fields(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield fields that are said to be empty, or to hold a text, and are not so in any record that is meant."""
    for word in (word for word in sentence.words if word.text in _FIELDS):
        column, clause = FIELDS[word.text][0], sentence.clause(word.start)
        match = _LABEL.match(sentence.text, word.end)
        near = {*sentence.words_between(clause.start, word.start)[-NEAR:]} | (
            clause.said & {"empty", "blank", "missing", "unset"}
        )
        if match and column not in ("email", "phone") and (match["label"] or column in ("title", "industry")):
            said = (match["label"] or match["text"]).strip(' ."\u201c\u201d')
            said = "" if _NOT_SET.match(said) else said
        elif near & _LACKING and not clause.said & _UNTIL:
            said = ""
        else:
            continue
        mention = Mention("text", said, word.start, word.end, column=column)
        keys = [*subjects(mention, sentence, facts), *facts.base, *sentence.topic]
        keys = [key for key in keys if key[0] in KINDS[column] and column in facts.records.rows[key]]
        cells = [words_of(str(facts.records.rows[key][column] or "")) for key in keys]
        right = any(words_of(said).startswith(cell) if said else not cell.strip() for cell in cells)
        if keys and not right and sentence.sense(mention) != "open":
            has = facts.records.rows[keys[0]][column] or f"no {column}"
            yield f'"{clause.text}": {facts.records.label(keys[0])} has {has}'


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
