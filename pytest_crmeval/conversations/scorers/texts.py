"""Names, titles, quotations and other texts of a reply that no record and no message has."""

import re
from collections.abc import Iterator, Sequence

from pytest_crmeval.conversations.scorers.lexicon import CHOICES, DEEDS, FIELDS, NOUNS, OLD, OPEN, listed
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
_WAS = listed("was were had before previously until")
_UNTIL = OPEN | listed("had was were until before previously other others change changed changes yet")
_FIELDS = listed("email mail phone owner title industry")
_TITLE = re.compile(r"\s?[,(:\u2013\u2014-]\s?((?:[A-Z][\w&-]+\s?(?:of\s)?){2,})")
_LABELS = {"industry": "industry", "title": "title", "job title": "title", "owner": "owner", "notes": "notes"}
_LABELLED = re.compile(
    r"(?:^|(?<=, ))(industry|title|job title|owner|notes): ([^:]+?)(?=, [A-Z][\w -]{0,20}: |$)"
    r"|\b(industry|title)(?:\s(?:is|to|now|reads|as|of|field|says)){0,3}\s(?-i:([A-Z][\w&-]+(?:\s(?:(?:of|and|&)\s)?[A-Z][\w&-]+)*))",
    re.IGNORECASE,
)
_NOT_SET = re.compile(r"(?:none|no|nothing|empty|blank|not|unset|unassigned)\b|n/a|[-(\u2013\u2014]", re.IGNORECASE)
NEAR = 6
SHORTEST = 3


def altered_quotes(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield quotations that no message and no record contains, and names of files that no record has."""
    for mention in sentence.mentions:
        if mention.sort == "quote" and sentence.sense(mention) != "open":
            for part in re.split(r"\u2026|\.\.\.", str(mention.value)):
                if len(words_of(part).split()) >= SHORTEST and not facts.has_heard(part):
                    yield f'"{part.strip()}": no record or message has this text'
    for match in _FILE.finditer(sentence.text if not sentence.asks else ""):
        if not facts.has_heard(match[0]):
            yield f'"{match[0]}": no record or message has this file'


def old_texts(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield quotations of a text that the turn has written over, said as if it were still there."""
    for mention in sentence.mentions if not sentence.spelled & OLD else ():
        quote = words_of(str(mention.value)) if mention.sort == "quote" and sentence.sense(mention) == "fact" else ""
        for write in facts.records.written if quote else ():
            old, new = (
                words_of(str((write.old or {}).get("notes") or "")),
                words_of(str(write.changed.get("notes", ""))),
            )
            if old.strip() and new.strip() and old in quote and quote not in new:
                yield f'"{mention.value}": {facts.records.label(write.key)} has {write.changed["notes"]}'


def wrong_titles(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield titles beside the name of a contact that has another one: 'Ada King, Chief Clerk'."""
    for name in (name for name in sentence.names if name.kinds == {"contact_id"} and len(name.keys) == 1):
        (key,) = name.keys
        said, title = _TITLE.match(sentence.text, name.end), facts.records.rows[key].get("title")
        taken = said and any(said.start(1) < m.end and m.start < said.end(1) for m in sentence.mentions)
        if said and title and not taken and {*words_of(said[1]).split()} & {*words_of(str(title)).split()}:
            yield f'"{said[0].strip(" ,(")}": {facts.records.label(key)} has {title}'


def empty_fields(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield clauses that say that a record has no e-mail address, no owner or the like, although it has."""
    for start, end, words in sentence.clauses if not sentence.asks else ():
        negative = [n for n, word in enumerate(words) if word in _LACKING]
        if {*words} & _EMPTY and {*words} & _WAS and (old := _old_cells(words, facts)) and all(old):
            yield f'"{sentence.text[start:end].strip()}": it was {old[0]}'
        if not negative or {*words} & _UNTIL:
            continue
        empty = bool({*words} & _EMPTY)
        for word in sentence.words:
            near = words.index(word.text) - negative[0] if word.text in words else -1
            if not start <= word.start < end or word.text not in _FIELDS or not (empty or 0 < near <= NEAR):
                continue
            columns = FIELDS[word.text]
            mention = Mention("text", "", word.start, word.end, column=columns[0])
            found = [*subjects(mention, sentence, facts), *(key for key in facts.base if key[0] in KINDS[columns[0]])]
            rows = [facts.records.rows[key] for key in found]
            if rows and all(row.get(column) for row in rows for column in columns if column in row):
                has = next(row[column] for row in rows for column in columns if column in row)
                yield f'"{sentence.text[start:end].strip()}": {facts.records.label(found[0])} has {has}'


def _old_cells(words: Sequence[str], facts: TurnFacts) -> list[object]:
    """Return what the turn has written over: in the columns that words name, or in all."""
    named = {column for word in words for column in FIELDS.get(word, ())}
    writes = [write for write in facts.records.written if write.old]
    return [(w.old or {}).get(column) for w in writes for column in sorted(w.columns & named or w.columns)]


def wrong_labels(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield labelled texts that no record of the turn has in that column: 'Industry: Shipping', 'the title Clerk'."""
    for match in _LABELLED.finditer(sentence.text):
        label, value = (1, 2) if match[1] else (3, 4)
        column, said = _LABELS[match[label].casefold()], match[value].strip(' ."\u201c\u201d')
        mention = Mention("text", said, match.start(value), match.end(value), column=column)
        found = subjects(mention, sentence, facts)
        rows = [facts.records.rows[key] for key in (*found, *facts.base, *facts.topic)]
        cells = [row.get(column) or "" for row in rows if column in row]
        empty = not said or _NOT_SET.match(said)
        right = any(not cell if empty else cell and words_of(said).startswith(words_of(str(cell))) for cell in cells)
        if found and cells and not right and sentence.sense(mention) == "fact":
            has = cells[0] or f"no {column}"
            yield f'"{match[0].strip(" ,")}": {facts.records.label(found[0])} has {has}'


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
    yield from old_texts(sentence, facts)
    yield from wrong_labels(sentence, facts)
    yield from wrong_titles(sentence, facts)
    yield from empty_fields(sentence, facts)
    yield from unknown_names(sentence, facts)
