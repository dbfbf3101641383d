"""Caps: how fast models may be asked, all workers together. ``openai:gpt-4.1 500rpm 200000tpm``."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Self

_WORD = re.compile(r"\S+")
_RATE = re.compile(r"([0-9]{1,3}(?:_[0-9]{3}){0,4}|[0-9]{1,15})(rpm|tpm)")


class CapError(ValueError):
    """A cap that can't be read; the message points at the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """What the models that it speaks of may be asked in a minute, all of them together."""

    pattern: str
    """``provider:model``; ``*`` stands for anything, as in file names."""
    requests: int | None = None
    """None: as many as you like."""
    tokens: int | None = None
    """Input and output; None: as many as you like."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read one line of ``crmeval_rates``."""
        words = list(_WORD.finditer(text))
        if not words or "=" in words[0][0] or (":" not in words[0][0] and "*" not in words[0][0]):
            raise _wrong("provider:model, such as openai:gpt-4.1 or openai:*", text, words[0].start() if words else 0)
        if not words[1:]:
            raise _wrong("a rate, such as 500rpm or 200000tpm", text, len(text.rstrip()) + 1)
        rates: dict[str, int] = {}
        for word in words[1:]:
            unit, number = _rate(text, word)
            if unit in rates:
                raise _wrong(f"the end: there is a number of {unit} already", text, word.start())
            rates[unit] = number
        return cls(pattern=words[0][0], requests=rates.get("rpm"), tokens=rates.get("tpm"))

    def __str__(self) -> str:
        """Return the line as it may be written."""
        rates = [f"{self.requests}rpm"] * (self.requests is not None) + [f"{self.tokens}tpm"] * (
            self.tokens is not None
        )
        return " ".join([self.pattern, *rates])

    def holds_for(self, model: str) -> bool:
        """Whether it speaks of ``model``, which is provider:model; wherever it is asked, which is after a space."""
        return fnmatchcase(model.partition(" ")[0], self.pattern)


def _rate(text: str, word: re.Match[str]) -> tuple[str, int]:
    match = _RATE.fullmatch(word[0])
    if match is None:
        raise _wrong("a rate, such as 500rpm or 200000tpm,", text, word.start())
    if not int(match[1]):
        raise _wrong("a rate above 0", text, word.start())
    return match[2], int(match[1])


def _wrong(wanted: str, text: str, position: int) -> CapError:
    return CapError(f"expected {wanted} here:\n  {text}\n  {' ' * position}^")
