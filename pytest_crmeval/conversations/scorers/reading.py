"""The sentences, list items and table rows of a reply, with the values and names in each."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pytest_crmeval.conversations.scorers.lexicon import CHOICES, FIELDS, NOUNS, listed
from pytest_crmeval.conversations.scorers.mentions import COUNTS, Figure, Located, located
from pytest_crmeval.conversations.scorers.records import Phrase, PhraseIndex, Word, words_in
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence

_EMOJI = re.compile(r"\s*[\u2139\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0f\u200d]+\s*")
_MARKUP = re.compile(r"\*\*|__|`|(?<![\w*])[*_](?=\S)|(?<=\S)[*_](?![\w*])|^\s*#+\s+", re.MULTILINE)
_HYPHEN = re.compile(r"\b(e|re)-(mail|opened|sent|activated|assigned)", re.IGNORECASE)
_ITEM = re.compile(r"^\s*(?:[-*\u2022\u2013]|\d{1,2}[.)])\s+|^\s*>\s?")
_STOP = re.compile(
    r"(?<=[.!?;])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bNo\.)(?<!\bInc\.)(?<!\bapprox\.)\s+(?=\S)"
    r"|(?<=[.!?][\"\u201d)])\s+(?=[A-Z])"
)
_QUOTED = re.compile(
    r"[\"\u201c]([^\"\u201c\u201d\n]{2,400})[\"\u201d]|(?<!\w)\u2018([^\u2018\u2019\n]{12,400})\u2019(?!\w)"
)
_VERSION = re.compile(r"(?<![\w-])(?:version|ver\.?|v\.?)\s?(\d+(?:\.\d+)*)\b", re.IGNORECASE)
_BARE_VERSION = re.compile(r"\d{1,2}\.\d")
_PREFIX = re.compile(r"\b(?!ISO-)[A-Z]{2,5}-\d{2,5}\b")
_MONEY = re.compile(r"[$\u20ac\u00a3]\s?$|\b(?:USD|EUR|GBP|CHF)\s?$")
_MONEY_AFTER = re.compile(r"\s?(?:[$\u20ac\u00a3]|(?:USD|EUR|GBP|CHF|dollars?|euros?|pounds?|francs?)\b)")
_PASSIVE = re.compile(r"\b(?:been|was|were) (?:sent|approved|cancell?ed)$")
LARGE = 1000
PAIR = 2
YEARS = range(1900, 2101)
LONGEST = 800
"""Letters of a sentence; what is longer is read in pieces."""
SEVERAL = 3
"""So many stages or statuses in one sentence are a list of what there is to choose from."""


def sentences_of(text: str, phrases: PhraseIndex) -> list[Sentence]:
    """Return the sentences of a reply with what each of them mentions."""
    found = [Sentence(text=part) for part in _split(text)]
    for sentence in found:
        _read(sentence, phrases)
    return found


@lru_cache(512)
def _split(text: str) -> Sequence[str]:
    return [part for part in _parts(text) if part.strip(" .|")]


def _parts(text: str) -> Iterator[str]:
    heads: list[str] = []
    rows: list[str] = []
    text = _HYPHEN.sub(lambda match: match[1] + match[2], _MARKUP.sub("", text))
    for raw in text.split("\n"):
        line = raw.strip()
        if not line.startswith("|"):
            heads, rows = [], []
            yield from _sentences(line)
        elif set(line) <= set("|:- "):
            heads = rows[-1:] and [cell.strip() for cell in rows[-1].strip("|").split("|")]
        elif rows and heads:
            cells = zip(heads, line.strip("|").split("|"), strict=False)
            plain = len(heads) == PAIR and heads[0].casefold() in ("field", "", "detail", "property")
            yield (
                re.sub(r"\s*\|\s*", ": ", line.strip("| "))
                if plain
                else ", ".join(f"{h}: {c.strip()}" for h, c in cells)
            )
        else:
            rows.append(line)


def _sentences(line: str) -> Iterator[str]:
    parts = [part for part in _EMOJI.split(_ITEM.sub("", line)) if part.strip()]
    joined = ""
    for part in parts:
        breaks = joined and (part[0].isupper() or joined.rstrip()[-1] in ".!?")
        joined = f"{joined}\n{part}" if breaks else f"{joined} {part}".strip()
    for piece in joined.split("\n"):
        start = 0
        for match in [*_STOP.finditer(piece), None]:
            if match and _goes_on(piece, start, match):
                continue
            yield from _chunks(piece[start : match.start() if match else len(piece)])
            start = match.end() if match else 0


def _goes_on(text: str, start: int, stop: re.Match[str]) -> bool:
    """Whether a sentence goes on after what looks like its end: in small letters, or in parentheses."""
    said = text[start : stop.start()]
    if said.count("\u201c") > said.count("\u201d") or (said.count('"') % 2 and '"' in text[stop.end() :]):
        return True
    if text[stop.start() - 1] == ";":
        return text.count("(", start, stop.start()) > text.count(")", start, stop.start())
    return text[stop.end()].islower()


def _chunks(text: str) -> Iterator[str]:
    """Yield a text in pieces that can be judged in a time that grows with its length, and not faster."""
    while len(text) > LONGEST:
        cut = text.rfind(" ", 0, LONGEST)
        cut = cut if cut > 0 else LONGEST
        yield text[:cut]
        text = text[cut:]
    yield text


def _read(sentence: Sentence, phrases: PhraseIndex) -> None:
    """Find what a sentence mentions: quotations first, then names and texts, then values."""
    text, found = sentence.text, sentence.mentions
    for match in _QUOTED.finditer(text):
        inside = match[1] or match[2]
        spelled = [word.text for word in words_in(inside)]
        known = spelled and any(tuple(spelled) == p.words for p in phrases.get(spelled[0], ()))
        if not known and (len(spelled) >= SEVERAL or (spelled[:1] and spelled[0] not in CHOICES)):
            start = match.start(1 if match[1] else 2)
            found.append(Mention("quote", inside, start, start + len(inside)))
    text = _blank(text, found)
    values, numbers = _values(text)
    found += values
    text = _blank(text, values)
    words = words_in(text)
    _find_phrases(text, words, phrases, found)
    spans = [(each.start, each.end) for each in found]
    for one in numbers:
        if isinstance(one.value, Figure) and not any(start <= one.start < end for start, end in spans):
            sort = _number_sort(one.value, text, one.start, one.end)
            value = sentence.text[one.start : one.end] if sort == "version" else one.value
            found.append(Mention(sort, value, one.start, one.end))
    kept = [each for each in found if each.sort == "count" or _PASSIVE.search(text[: each.end])]
    taken = [(each.start, each.end) for each in found if each not in kept]
    sentence.words = [w for w in words if not any(start <= w.start < end for start, end in taken)]
    found += [Mention("count", COUNTS[w.text], w.start, w.end) for w in sentence.words if w.text in COUNTS]
    found.sort(key=lambda each: each.start)


@lru_cache(2048)
def _values(text: str) -> tuple[Sequence[Mention], Sequence[Located]]:
    """Return the values of a text, and the numbers, of which the words around them say what they are."""
    found: list[Mention] = []
    for sort, pattern in (("version", _VERSION), ("prefix", _PREFIX)):
        found += [Mention(sort, m[1] if sort == "version" else m[0], *m.span()) for m in pattern.finditer(text)]
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
    while place < len(words):
        word = words[place]
        if phrase := next((p for p in phrases.get(word.text, ()) if _fits(p, words, place)), None):
            last = words[place + len(phrase.words) - 1]
            sort = "text" if phrase.column else "name"
            end = last.end - 2 if text[last.end - 2 : last.end] in ("'s", "\u2019s") else last.end
            said = text[word.start : end]
            found.append(Mention(sort, said, word.start, last.end, phrase.keys, phrase.column, phrase.whole))
            place += len(phrase.words)
            continue
        pair = " ".join(w.text for w in words[place : place + 2])
        size, choice = (2, CHOICES[pair]) if " " in pair and pair in CHOICES else (1, CHOICES.get(word.text))
        if choice and _is_choice(text, words, place, size):
            found.append(Mention(choice[0], choice[1], word.start, words[place + size - 1].end))
        place += size
    _drop_lists(text, found)


def _drop_lists(text: str, found: list[Mention]) -> None:
    """Drop stages and statuses that are listed as what there is to choose from."""
    run: list[Mention] = []
    for each in [*sorted((m for m in found if m.sort in ("stage", "status")), key=lambda m: m.start), None]:
        if (
            each
            and run
            and re.fullmatch(r"[\s,/|\"\u201c\u201d]*(?:and|or)?[\s\"\u201c\u201d]*", text[run[-1].end : each.start])
        ):
            run.append(each)
            continue
        if len(run) >= SEVERAL:
            found[:] = [m for m in found if m not in run]
        run = [each] if each else []


def _fits(phrase: Phrase, words: Sequence[Word], place: int) -> bool:
    """Whether words are a name as it is written: a part of one begins with a capital."""
    there = words[place : place + len(phrase.words)]
    if tuple(word.text for word in there) != phrase.words:
        return False
    if len(there) == 1 or not phrase.whole:
        return there[0].capital and not (there[0].text in NOUNS and len(there) == 1)
    return phrase.whole and (not phrase.column or there[0].capital)


_STATES = listed(
    "is are in as at stage status type marked currently still now be a an became becomes stays remains remain both set "
    "been"
)


def _is_choice(text: str, words: Sequence[Word], place: int, size: int) -> bool:
    """Whether a word is meant as a stage or status, and not as a deed or in its common sense."""
    word = words[place]
    following = words[place + size].text if place + size < len(words) else ""
    before = words[place - 1].text if place else ""
    if not word.capital and (
        before in ("i", "ive", "crm") or (before in ("we", "weve") and word.text not in ("won", "lost"))
    ):
        return False
    if word.text == "rejected" and (before in ("was", "were", "been") or not place):
        return False
    if word.text in ("partner", "partners", "vendor", "vendors", "competitor", "competitors"):
        return before != "no"
    if word.capital and (
        place or size == PAIR or text[word.end : word.end + 1] in ".,;:)" or not text[word.end :].strip()
    ):
        return True
    lost = word.text in ("won", "lost", "expired") and before in ("we", "weve", "has", "have", "already", "was", "one")
    led = (
        before in _STATES
        or lost
        or (before == "of" and place > 1 and words[place - 2].text == "instead")
        or before in ("was", "were")
        or text[: word.start].rstrip().endswith(("(", ":", ","))
    )
    if following in NOUNS or before in FIELDS:
        return word.capital or led or following in NOUNS
    return led and word.text != "closed"


def _number_sort(value: Figure, text: str, start: int, end: int) -> str:
    """Return whether a number is an amount, a percentage, a year or a count."""
    if value.percent:
        return "percent"
    money = _MONEY.search(text[:start]) or _MONEY_AFTER.match(text[end:])
    year = value.value in YEARS and re.fullmatch(r"\d{4}", text[start:end])
    if not money and _BARE_VERSION.fullmatch(text[start:end]):
        return "version"
    if money or value.precision > 1 or (value.value >= LARGE and not year) or "." in text[start:end]:
        return "amount"
    before = [word.text for word in words_in(text[:start])[-6:]]
    if "probability" in before or re.match(r"\s+to\s+\d+(?:\.\d+)?\s?(?:%|per)", text[end:]):
        return "percent"
    return "year" if year else "count"
