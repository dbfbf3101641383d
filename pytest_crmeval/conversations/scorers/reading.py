"""The sentences, list items and table rows of a reply, with the values and names in each."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pytest_crmeval.conversations.scorers.lexicon import CHOICES, FIELDS, NOUNS, listed
from pytest_crmeval.conversations.scorers.mentions import COUNTS, Figure, Located, located
from pytest_crmeval.conversations.scorers.records import PhraseIndex, Word, words_in
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence

_EMOJI = re.compile(
    r"\s*[\u2139\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0f\u200d]+\s*(?P<new>(?=[A-Z]))?"
)
_MARKUP = re.compile(
    r"\*\*|__|`|(?<![\w*])[*_](?=\S)|(?<=\S)[*_](?![\w*])|^\s*#+\s+|^\s*(?:[-*\u2022\u2013]|\d{1,2}[.)])\s+|^\s*>\s?",
    re.MULTILINE,
)
_HYPHEN = re.compile(r"\b(e|re)-(mail|opened|sent|activated|assigned)", re.IGNORECASE)
_CLOSED = re.compile(r"\([^()]*\)")
_STOP = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bNo\.)(?<!\bInc\.)(?<!\bapprox\.)\s+(?=[^a-z\s])"
    r"|(?<=;)\s+(?!\w+: )|(?<=[.!?][\"\u201d)])\s+(?=[A-Z])"
)
"""The end of a sentence; 'stage: Proposal; amount: 4,000' goes on."""
_QUOTED = re.compile(
    r"[\"\u201c]([^\"\u201c\u201d\n]{2,400})[\"\u201d]|(?<!\w)\u2018([^\u2018\u2019\n]{12,400})\u2019(?!\w)"
)
_VERSION = re.compile(r"(?<![\w-])(?:version|ver\.?|v\.?)\s?(\d+(?:\.\d+)*)\b", re.IGNORECASE)
_PREFIX = re.compile(r"\b(?!ISO-)[A-Z]{2,5}-\d{2,5}\b")
_MONEY = re.compile(r"[$\u20ac\u00a3]\s?$|\b(?:USD|EUR|GBP|CHF)\s?$")
_MONEY_AFTER = re.compile(r"\s?(?:[$\u20ac\u00a3]|(?:USD|EUR|GBP|CHF|dollars?|euros?|pounds?|francs?)\b)")
_FACTOR = re.compile(r"(?:[\u00d7*]|\btimes)\s?$")
_PASSIVE = re.compile(r"\b(?:been|was|were) (?:sent|approved|cancell?ed)$")
_AMONG = re.compile(r"[\s,/|\"\u201c\u201d]*(?:and|or)?[\s\"\u201c\u201d]*")
_STATES = listed(
    "is are in as at to stage status type marked currently still now be a an became becomes stays remains remain both "
    "set been was were of already"
)
"""Words before one that is meant as a stage, a status or a type."""
LARGE = 1000
YEARS = range(1900, 2101)
LONGEST = 800
"""Letters of a sentence; what is longer is read in pieces."""
SEVERAL = 3
"""So many stages or statuses side by side are a list of what there is to choose from."""


def sentences_of(text: str, phrases: PhraseIndex, subject: str = "") -> list[Sentence]:
    """Return the sentences of a reply with what each mentions; ``subject`` is the kind that the turn is about."""
    found: list[Sentence] = []
    topic: frozenset[tuple[str, str]] = frozenset()
    for part in _parts(text):
        sentence = Sentence(text=part, topic=topic, subject=subject)
        _read(sentence, phrases)
        found.append(sentence)
        topic = sentence.keys or topic
        heads = [kind for _, kind, led in sentence.anchors if not led]
        subject = heads[-1] if heads else subject
    return found


@lru_cache(512)
def _parts(text: str) -> Sequence[str]:
    """Return the sentences of a text; a row of a table becomes one, with the head of each column before its cell."""
    found: list[str] = []
    heads: list[str] = []
    last = ""
    text = _EMOJI.sub(lambda match: " " if match["new"] is None else "\n", _MARKUP.sub("", text))
    for raw in _HYPHEN.sub(r"\1\2", text).split("\n"):
        line = raw.strip()
        if not line.startswith("|"):
            heads = []
            found += _sentences(line)
        elif set(line) <= set("|:- "):
            heads = [cell.strip() for cell in last.strip("|").split("|")]
        elif heads:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            fields = [head.casefold() for head in heads[:-1]] in (["field"], [""], ["detail"], ["property"])
            found.append(", ".join(map(": ".join, [cells] if fields else zip(heads, cells, strict=False))))
        last = line
    return [part for part in found if part.strip(" .|")]


def _sentences(line: str) -> Iterator[str]:
    """Yield the sentences of a line; a quotation is not split, and what is too long is cut."""
    masked = line
    for pattern in (_QUOTED, _CLOSED):
        masked = pattern.sub(lambda match: match[0][0] + "x" * (len(match[0]) - 3) + match[0][-2:], masked)
    start = 0
    for end in [*(match.end() for match in _STOP.finditer(masked)), len(line)]:
        while end - start > LONGEST:
            cut = line.rfind(" ", start + 1, start + LONGEST)
            cut = cut if cut > start else start + LONGEST
            yield line[start:cut]
            start = cut
        yield line[start:end].strip()
        start = end


def _read(sentence: Sentence, phrases: PhraseIndex) -> None:
    """Find what a sentence mentions: quotations first, then values, names and texts, and numbers."""
    found = sentence.mentions
    for match in _QUOTED.finditer(sentence.text):
        group = 1 if match[1] else 2
        spelled = tuple(word.text for word in words_in(match[group]))
        known = spelled and any(spelled == phrase.words for phrase in phrases.get(spelled[0]))
        if spelled and not known and (len(spelled) >= SEVERAL or spelled[0] not in CHOICES):
            found.append(Mention("quote", match[group], *match.span(group)))
    text = _blank(sentence.text, found)
    values, numbers = _values(text)
    found += values
    text = _blank(text, values)
    words = words_in(text)
    _find_phrases(text, words, phrases, found)
    for one in numbers:
        if isinstance(one.value, Figure) and not any(m.start <= one.start < m.end for m in found):
            sort = _number_sort(one.value, text, one.start, one.end)
            value = text[one.start : one.end] if sort == "version" else one.value
            found.append(Mention(sort, value, one.start, one.end))
    taken = [m for m in found if m.sort != "count" and not _PASSIVE.search(text[: m.end])]
    sentence.words = [w for w in words if not any(m.start <= w.start < m.end for m in taken)]
    found += [Mention("count", COUNTS[w.text], w.start, w.end) for w in sentence.words if w.text in COUNTS]
    found.sort(key=lambda each: each.start)


@lru_cache(2048)
def _values(text: str) -> tuple[Sequence[Mention], Sequence[Located]]:
    """Return the values of a text, and the numbers, of which the words around them say what they are."""
    found = [Mention("version", m[1], *m.span()) for m in _VERSION.finditer(text)]
    found += [Mention("prefix", m[0], *m.span()) for m in _PREFIX.finditer(text)]
    values = located(_blank(text, found))
    found += [Mention(one.sort.split()[-1], one.value, one.start, one.end) for one in values if one.sort != "number"]
    return found, [one for one in values if one.sort == "number"]


def _blank(text: str, found: Sequence[Mention]) -> str:
    for each in found:
        text = text[: each.start] + " " * (each.end - each.start) + text[each.end :]
    return text


def _find_phrases(text: str, words: Sequence[Word], phrases: PhraseIndex, found: list[Mention]) -> None:
    """Find names, texts of columns, and stages, statuses and types."""
    place = 0
    choices: list[Mention] = []
    while place < len(words):
        word = words[place]
        pair = " ".join(w.text for w in words[place : place + 2])
        size, choice = (2, CHOICES[pair]) if " " in pair and pair in CHOICES else (1, CHOICES.get(word.text))
        if match := phrases.match(words, place):
            phrase, keys = match
            size = len(phrase.words)
            last = words[place + size - 1]
            said = re.sub(r"['\u2019]s$", "", text[word.start : last.end])
            sort = "text" if phrase.column else "name"
            found.append(Mention(sort, said, word.start, last.end, keys, phrase.column, phrase.whole))
        elif choice and _is_choice(text, words, place, size):
            choices.append(Mention(*choice, word.start, words[place + size - 1].end))
        place += size
    run: list[Mention] = []
    for each in [*choices, None]:  # a list of what there is to choose from states nothing
        if run and (each is None or not _AMONG.fullmatch(text[run[-1].end : each.start])):
            found += run if len(run) < SEVERAL or run[0].sort == "type" else ()
            run = []
        run += [each] if each else []


def _is_choice(text: str, words: Sequence[Word], place: int, size: int) -> bool:
    """Whether a word is meant as a stage, a status or a type, and not as a deed or in its common sense."""
    word = words[place]
    following = words[place + size].text if place + size < len(words) else ""
    before = words[place - 1].text if place else ""
    if CHOICES.get(word.text, ("",))[0] == "type":
        return before != "no"
    if word.text == "rejected" and (before in ("was", "were", "been") or not place):
        return False
    if word.capital and (place or size > 1 or not re.match(r" \w", text[word.end :])):
        return True
    ended = word.text in ("won", "lost", "expired") and before in ("we", "weve", "has", "have", "already", "one")
    if word.text in ("draft", "drafts") and (before == "the" or before.isdigit()):
        return True
    led = before in _STATES or ended or text[: word.start].rstrip().endswith(("(", ":", ","))
    return following in NOUNS or (word.capital and before in FIELDS) or (led and word.text != "closed")


def _number_sort(value: Figure, text: str, start: int, end: int) -> str:
    """Return whether a number is an amount, a percentage, a version, a year, a count or a factor."""
    if _FACTOR.search(text[:start]):
        return "factor"
    if value.percent:
        return "percent"
    money = _MONEY.search(text[:start]) or _MONEY_AFTER.match(text[end:])
    year = value.value in YEARS and re.fullmatch(r"\d{4}", text[start:end])
    if not money and re.fullmatch(r"\d{1,2}\.\d", text[start:end]):
        return "version"
    if money or value.precision > 1 or (value.value >= LARGE and not year) or "." in text[start:end]:
        return "amount"
    before = [word.text for word in words_in(text[:start])[-6:]]
    if "probability" in before or re.match(r"\s+to\s+\d+(?:\.\d+)?\s?(?:%|per)", text[end:]):
        return "percent"
    return "year" if year else "count"
