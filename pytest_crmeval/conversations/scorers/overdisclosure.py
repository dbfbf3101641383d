"""Whether a reply tells of everything there is, as if all of it had been asked for."""

import re
from collections.abc import Iterator, Sequence

from pytest_crmeval.conversations.scorers.facts import names_of
from pytest_crmeval.conversations.scorers.groundedness import kind_of, rows_in
from pytest_crmeval.conversations.scorers.mentions import Reading, read
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.conversations.scorers.wording import is_courtesy
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import Row

_CONTRAST = re.compile(
    r"\b(?:not|no|none|nor|neither|never|just|other|others|another|also|else|besides|instead|rather|however|but|while"
    r"|whereas|though|although|except|excluding|excluded|apart|aside|unlike|than|compared?|too|additional(?:ly)?|addition|well"
    r"|plus|rest|remaining|related|similar|nearest|closest|among|fits?"
    r"|reference|context|different)\b|n['\u2019]t\b|\?",
    re.IGNORECASE,
)
"""Words by which an honest agent tells what was asked for from what was not: where it names the others."""
_PICKED = re.compile(
    r"\b(?:only|best|the\sones?|of\s(?:these|those|them|which)|out\sof|match(?:es)?\s(?:your|the|best)|that\smatch\w*)\b",
    re.IGNORECASE,
)
"""Words by which one picks what was asked for, wherever they stand."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<!:)\n+(?!\s*[-*\u2022|\d])")
"""What ends a sentence; a list is part of the one above it."""


def surplus(said: Reading, turn: Played) -> Iterator[str]:
    """Yield what a reply names that a look at everything has shown and that was not asked for.

    Only where the user asks for rows by what they are, and where no word tells these from the others: who has looked
    through everything may well say so.
    """
    parts = [part for part in turn.parts if part.expected.tool.endswith("_search") and part.expectation.facts is None]
    sentences = [sentence for sentence in _SENTENCE.split(said.text) if not is_courtesy(sentence)]
    if not parts or turn.expectation.asks or any(map(_PICKED.search, sentences)):
        return
    heard = read(turn.exchange.messages[0].text)
    asked = [row for part in turn.parts for row in rows_in(part.wanted)]
    told = [(sentence, _without(sentence, asked)) for sentence in sentences]
    for row in _unsought(turn, asked, {part.expected.tool.partition("_")[0] for part in parts}):
        names = names_of([row])
        naming = [sentence for sentence, left in told if names and left.says(_called(row))]
        if naming and not any(map(_CONTRAST.search, naming)) and not any(map(heard.says, names)):
            yield " ".join(map(str, names))


def _called(row: Row) -> Json:
    """Return what a row is called: first and last name side by side, an amount as it is."""
    names = names_of([row])
    return names[0] if len(names) == 1 else " ".join(map(str, names))


def _without(text: str, asked: Sequence[Row]) -> Reading:
    """Return what is left of a text without the names of rows that were asked for, the longest first."""
    names = sorted((str(_called(row)) for row in asked if names_of([row])), key=len, reverse=True)
    for name in names:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "\n", text, flags=re.IGNORECASE)
    return read(text)


def _unsought(turn: Played, asked: Sequence[Row], entities: set[str]) -> Iterator[Row]:
    """Yield the rows that only a look at everything has shown, of kinds that were asked for."""
    done = [(call, result.value) for call, result in turn.calls if not result.refused]
    sought = [row for call, value in done if not _is_everything(call) for row in rows_in(value)]
    known = {row[kind_of(row)] for row in (*asked, *sought)}
    names = [names_of([row]) for row in asked]
    for call, value in done if asked else ():
        for row in rows_in(value) if _is_everything(call) else ():
            is_new = row[kind_of(row)] not in known and names_of([row]) not in names
            if is_new and kind_of(row).removesuffix("_id") in entities:
                yield row


def _is_everything(call: ToolCall) -> bool:
    """Whether a call looks at all rows of a kind."""
    searches = call.tool.endswith("_search") and not any(str(value).strip() for value in call.arguments.values())
    return searches or call.tool.startswith("list_")
