"""The sentences and clauses of a text: one of them says one thing."""

import re
from collections.abc import Sequence

DEEDS = (
    r"(?:re)?(?:added|adjusted|advanced|amended|applied|appended|assigned|attached|booked|bumped|canceled|cancelled|changed"
    r"|cloned|completed|converted|copied|corrected|created|decreased|deleted|drafted|duplicated|edited|entered|extended"
    r"|filed|flagged|generated|increased|issued|linked|logged|lowered|made|marked|modified|moved|named|opened|posted"
    r"|prepared|promoted|put|raised|recorded|reduced|registered|removed|revised|saved|scheduled|sent|set|shifted|stored"
    r"|submitted|switched|taken\scare\sof|transferred|updated|uploaded|voided|withdrawn|written|wrote)"
)
"""What is done in a CRM, as one says that it was."""
_SENTENCE = re.compile(r"(?<=[.!?;])(?<!\be\.g\.)[\s*_]+|\n+")
_CLAUSE = re.compile(
    rf"{_SENTENCE.pattern}|(?<!\s)\s+[\u2014\u2013]\s+|(?<!\s),?\s+(?:but|however|though|although|and|so|yet)\s+"
)
_OPENS = re.compile(
    r"\b(?:can|could|may|might|would|one\sof|options?|alternatives?|suggest\w*|instead|next\ssteps?|choose|choices?|valid"
    r"|available|possible|allowed|stages|statuses)\b[^:]*:[\s*_]*$",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"^[ \t]*(?:[-*\u2022]|\d{1,2}[.)])[ \t]+(?!\W*(?:stage|status|amount|probability|close\sdate|owner)\W*:)"
    rf"(?!.*\b(?:I|been|was|were|now|(?!(?:set|put|sent|cancell?ed)\b){DEEDS})\b)",
    re.IGNORECASE,
)
"""An item of a list; under 'I could:' or 'The stages are:' it is part of that, unless it says what was done."""


def clauses_of(text: str) -> Sequence[str]:
    """Return the clauses of a text."""
    return [clause for clause in _CLAUSE.split(_in_line(text)) if clause.strip()]


def sentences_of(text: str) -> Sequence[str]:
    """Return the sentences of a text."""
    return [sentence for sentence in _SENTENCE.split(_in_line(text)) if sentence.strip()]


def _in_line(text: str) -> str:
    """Return a text whose lists of what could be done or chosen are part of the sentence that begins them."""
    lines: list[str] = []
    opened = False
    for line in filter(str.strip, text.split("\n")):
        item = _ITEM.match(line)
        if opened and item:
            lines[-1] += f", {line[item.end() :]}"
            continue
        opened = line.rstrip("*_ ").endswith(":") and bool(_OPENS.search(_CLAUSE.split(line)[-1]))
        lines.append(line)
    return "\n".join(lines)
