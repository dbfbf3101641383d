"""Names, titles, quotations and other texts of a reply that no record and no message has."""

import re
from collections.abc import Iterator
from itertools import pairwise

from pytest_crmeval.conversations.scorers.lexicon import CHOICES, DEEDS, FIELDS, NOUNS, listed
from pytest_crmeval.conversations.scorers.mentions import COUNTS, MONTHS, words_of
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts

_ORDINARY = listed(
    "i crm id ids ok am pm monday tuesday wednesday thursday friday saturday sunday mr mrs ms dr usd eur gbp chf "
    "closed "
    "won lost english email url pdf christmas easter eve finance new year years yes no"
).union(MONTHS, CHOICES, NOUNS, FIELDS, DEEDS, COUNTS)
"""Words in capitals that are not names."""
_LEADS = {*NOUNS, "for", "at", "with", "to", "by", "named", "called", "and", "of"}
_FILE = re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.(?:csv|docx?|key|pdf|pptx?|txt|xlsx|zip|rar)\b")
_ORIGIN = re.compile(r"\bfrom\s+(.{2,80}?)\s+(?:back\s+|over\s+)?to\s+(.{2,80})")
_LABEL = re.compile(
    r"\b([Ii]ndustry|[Tt]itle)(?:\s+is|\s+now|:)?\s+([A-Z][\w&-]+(?:\s(?:of\s|&\s|and\s)?[A-Z][\w-]+)*)"
)
_BLANKS = frozenset(["blank", "empty", "nothing", "none", "unset", "unassigned", "nobody"])
_TITLE = re.compile(
    r"\s*[,(]\s*(?:the\s|our\s|their\s)?((?:[A-Z][\w&-]+)(?:\s(?:[A-Z][\w&-]*|of|and|&))*\s[A-Z][\w&-]*)(?=\s+(?:at|for|over)\b|[,).;]|$)"
)
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
        if re.match(r"(?:\s[A-Z][\w-]*)*\s*:", sentence.text[word.end :]):
            continue
        mention = Mention("name", raw, word.start, word.end)
        if sentence.sense(mention) not in ("open", "denied"):
            start = words[place - 1].start if place else word.start
            yield f'"{sentence.text[start : word.end]}": no record or message has {raw!r}'


def mixed_people(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield a first name beside the last name of another person."""
    names = [name for name in sentence.names if not name.whole]
    if len(names) <= 1:
        return
    rows = [
        row for rows in facts.records.past.values() for row in rows if row.get("first_name") and row.get("last_name")
    ]
    people = {(words_of(str(row["first_name"])).strip(), words_of(str(row["last_name"])).strip()) for row in rows}
    for one, other in pairwise(names):
        pair = (words_of(str(one.value)).strip(), words_of(str(other.value)).strip())
        apart = other.start - one.end == 1 and not one.keys & other.keys and pair not in people
        if apart and {k for k, _ in one.keys | other.keys} == {"contact_id"} and not facts.has_heard(" ".join(pair)):
            yield f'"{one.value} {other.value}": no record has this name'


def untrue_texts(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield each text of a sentence that is not as a record or a message has it."""
    if sentence.asks:
        return
    for find in (
        altered_quotes,
        unknown_names,
        mixed_people,
        wrong_titles,
        wrong_addresses,
        wrong_origins,
        wrong_labels,
    ):
        yield from find(sentence, facts)


def wrong_titles(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield a title after the name of a contact that no record has: 'Ada King, Chief Officer at Acme'."""
    for name in sentence.names if not sentence.asks else ():
        match = _TITLE.match(sentence.text, name.end)
        known = match and any(match.start(1) <= m.start < match.end(1) for m in sentence.mentions)
        if not match or known or {kind for kind, _ in name.keys} != {"contact_id"} or sentence.sense(name) == "open":
            continue
        titles = [str(row.get("title") or "") for key in name.keys for row in facts.records.past[key]]
        said, initials = words_of(match[1]), ["".join(word[0] for word in title.split()) for title in titles]
        if not any(title and words_of(title) in said for title in titles) and match[1] not in initials:
            had = titles[-1] or "no title"
            yield f'"{sentence.text[name.start : match.end(1)]}": {facts.records.label(min(name.keys))} has {had}'


def wrong_addresses(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield the street of a record with another number."""
    said = {*words_of(sentence.text).split()}
    for key in facts.involved if not sentence.asks else ():
        if not (address := facts.records.rows[key].get("address")):
            continue
        street = words_of(str(address).partition(",")[0]).split()
        names = [word for word in street if not word.isdigit()]
        if len(street) > len(names) > 0 and {*names} <= said and not {*street} <= said:
            past = [words_of(str(row.get("address"))).split() for row in facts.records.past[key]]
            if not any({*each} <= said for each in past):
                yield f'"{sentence.text.strip()}": {facts.records.label(key)} has {address}'


def wrong_origins(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield 'from A to B' where B was written over something else than A."""
    for match in _ORIGIN.finditer(sentence.text):
        was, new = words_of(match[1]), words_of(match[2])
        for write in facts.records.written if not sentence.asks else ():
            for column, value in write.changed.items() if write.old else ():
                old = (write.old or {}).get(column)
                texts = (
                    isinstance(value, str)
                    and not column.endswith(("_id", "_date", "_until"))
                    and new.startswith(words_of(value))
                )
                if texts and not (words_of(str(old)) in was if old is not None else _BLANKS & {*was.split()}):
                    had = f"no {column}" if old is None else old
                    yield f'"{match[0].strip()}": {facts.records.label(write.key)} had {had}'


def wrong_labels(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield 'industry Retail' where the record that was written has another one, or none."""
    for match in _LABEL.finditer(sentence.text if not sentence.asks else ""):
        column, said = match[1].casefold(), words_of(match[2])
        rows = [write.new for write in facts.records.written if write.new and column in write.new]
        related = {key for name in sentence.names for key in name.keys} - facts.written
        if (
            rows
            and not related
            and not any(said.startswith(words_of(str(row[column]))) for row in rows if row.get(column))
        ):
            before = [write.old.get(column) for write in facts.records.written if write.old]
            if not any(old and words_of(str(old)) in said for old in before) and said.strip() not in _BLANKS:
                row = rows[0]
                yield f'"{match[0]}": the record has {row.get(column) or f"no {column}"}'
