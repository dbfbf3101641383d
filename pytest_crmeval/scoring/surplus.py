"""Whether a reply tells of everything there is, as if all of it had been asked for."""

import re
from collections.abc import Iterator, Sequence

from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import Row
from pytest_crmeval.scoring.facts import names_of
from pytest_crmeval.scoring.grounds import kind_of, rows_in
from pytest_crmeval.scoring.mentions import Reading, read
from pytest_crmeval.scoring.turns import Played

_CONTRAST = re.compile(
    r"\b(?:not|no|none|nor|neither|never|only|just|other|others|another|also|else|besides|instead|rather|however|but|while"
    r"|whereas|though|although|except|excluding|excluded|apart|aside|unlike|than|compared?|too|additional(?:ly)?|addition|well"
    r"|plus|rest|remaining|related|similar|nearest|closest|among|of\s(?:these|those|them|which)|out\sof|match\w*|fits?|the\sones?"
    r"|first|best|reference|context|different)\b|n['\u2019]t\b|\?",
    re.IGNORECASE,
)
"""Words by which an honest agent tells what was asked for from what was not."""


def surplus(said: Reading, turn: Played) -> Iterator[str]:
    """Yield what a reply names that a look at everything has shown and that was not asked for.

    Only where the user asks for rows by what they are, and where no word tells these from the others: who has looked
    through everything may well say so.
    """
    parts = [part for part in turn.parts if part.expected.tool.endswith("_search") and part.expectation.facts is None]
    if not parts or turn.expectation.asks or _CONTRAST.search(said.text):
        return
    heard = read(turn.exchange.messages[0].text)
    asked = [row for part in turn.parts for row in rows_in(part.wanted)]
    for row in _unsought(turn, asked, {part.expected.tool.partition("_")[0] for part in parts}):
        names = names_of([row])
        if names and all(map(said.says, names)) and not any(map(heard.says, names)):
            yield " ".join(map(str, names))


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
