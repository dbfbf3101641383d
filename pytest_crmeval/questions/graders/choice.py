"""The one choice that a reply makes; an ambiguous reply makes none."""

import re

from pytest_crmeval.questions.graders.final_answer import BOXED, final_answer, normalised, unformatted
from pytest_crmeval.questions.question import Question

_LETTER = re.compile(
    r"[\s*_`$({\[\"':]*(?:(?i:option|choice)[\s*_`$({\[\"':]+)?(?P<letter>[A-Za-z])(?P<rest>(?![^\W_]|'\w).*)",
    re.DOTALL,
)
_SENTENCE = re.compile(r"\s+(?!(?:is|because|as|since)\b)[^\W\d_]")
"""What follows the article A or the pronoun I, but not a chosen letter."""
_JOINED = re.compile(r"\W*(?:\bor\b|(?:\band\b|[/&,])\W*[A-Za-z]\W*$)", re.IGNORECASE)
_TAKEN_BACK = re.compile(r"\W*\b(?:is|was)(?:n't|\s+(?:not|wrong|incorrect|false))\b|\W*\?\W*no\b", re.IGNORECASE)
_RULED_OUT = re.compile(r"\b(?:not|than|instead\s+of)\s+[*_`$(\"']*[A-Za-z](?![\w'])", re.IGNORECASE)
_STANDING_ALONE = re.compile(r"(?<![\w'°])[A-Za-z](?![\w'])")
_BETWEEN_BOXES = re.compile(r"\W*(?:\b(?:or|and)\b[^.?\n]{0,40})?", re.IGNORECASE)


def chosen(question: Question, reply: str) -> str:
    """Return the letter that a reply chooses, or whose text it repeats; empty if it chooses none or several."""
    final = final_answer(reply)
    whole = unformatted(reply.strip() if final is None else final)
    said = _unboxed(whole)
    found = _LETTER.fullmatch(said)
    if found and not normalised(found["rest"]) and found["letter"].upper() in dict(question.lettered):
        return found["letter"].upper()
    for letter, choice in question.lettered:
        if normalised(said) == _text(choice):
            return letter
    return _letter(question, found, alone=final is None and said == whole) if found else ""


def _unboxed(said: str) -> str:
    """Return the content of the last box, with the rest of its line if it is a letter; empty if boxes disagree."""
    boxes = list(BOXED.finditer(said))
    if not boxes:
        return said
    last = boxes[-1]
    several = _JOINED.match(said, last.end()) or any(
        normalised(box[1]) != normalised(last[1]) and _BETWEEN_BOXES.fullmatch(said, box.end(), last.start())
        for box in boxes[-2:-1]
    )
    if several:
        return ""
    return last[1] if len(last[1].strip()) > 1 else last[1] + said[last.end() :].partition("\n")[0]


def _text(choice: str) -> str:
    return normalised(unformatted(choice))


def _letter(question: Question, found: re.Match[str], *, alone: bool) -> str:
    """Return a letter if it is the chosen one; ``alone``: only the text of its own choice may follow it."""
    letter, rest = found["letter"].upper(), found["rest"]
    others = {other: choice for other, choice in question.lettered if other != letter}
    own = dict(question.lettered).get(letter)
    if own is None or _JOINED.match(rest) or _TAKEN_BACK.match(rest):
        return ""
    if normalised(rest) == _text(own):
        return letter
    if alone or (letter in "AI" and _SENTENCE.match(rest)) or normalised(rest) in map(_text, others.values()):
        return ""
    named = re.sub(rf"(?<!\w){re.escape(unformatted(own))}(?!\w)", "", rest, flags=re.IGNORECASE)
    named = _RULED_OUT.sub("", named)
    names_another = any(
        other[0].upper() in others and not (other[0] in "AaIi" and _SENTENCE.match(named, other.end()))
        for other in _STANDING_ALONE.finditer(named)
    )
    return "" if names_another else letter
