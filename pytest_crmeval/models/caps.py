"""Rate caps for models, for all workers together: ``openai:gpt-4.1 500rpm 200000tpm``."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Self

_WORD = re.compile(r"\S+")
_RATE = re.compile(r"([0-9]{1,3}(?:_[0-9]{3}){0,4}|[0-9]{1,15})(rpm|tpm)")


class CapError(ValueError):
    """A cap that can't be parsed; the message points at the error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """The requests and tokens per minute of all models that match a pattern, together."""

    pattern: str
    """``provider:model``; ``*`` stands for anything, as in file names."""
    requests: int | None = None
    """None: unlimited."""
    tokens: int | None = None
    """Input and output; None: unlimited."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse one line of ``crmeval_rates``."""
        words = list(_WORD.finditer(text))
        if not words or "=" in words[0][0] or (":" not in words[0][0] and "*" not in words[0][0]):
            raise _wrong("provider:model, such as openai:gpt-4.1 or openai:*", text, words[0].start() if words else 0)
        if not words[1:]:
            raise _wrong("a rate, such as 500rpm or 200000tpm", text, len(text.rstrip()) + 1)
        rates: dict[str, int] = {}
        for word in words[1:]:
            match = _RATE.fullmatch(word[0])
            if match is None:
                raise _wrong("a rate, such as 500rpm or 200000tpm,", text, word.start())
            number, unit = int(match[1]), match[2]
            if not number:
                raise _wrong("a rate above 0", text, word.start())
            if unit in rates:
                raise _wrong(f"no second {unit}", text, word.start())
            rates[unit] = number
        return cls(pattern=words[0][0], requests=rates.get("rpm"), tokens=rates.get("tpm"))

    def __str__(self) -> str:
        """Return the cap as a line of ``crmeval_rates``."""
        rates = [f"{self.requests}rpm"] * (self.requests is not None) + [f"{self.tokens}tpm"] * (
            self.tokens is not None
        )
        return " ".join([self.pattern, *rates])

    def holds_for(self, model: str) -> bool:
        """Whether it applies to ``model``: provider:model, and after a space perhaps an address, which is ignored."""
        return fnmatchcase(model.partition(" ")[0], self.pattern)


def _wrong(wanted: str, text: str, position: int) -> CapError:
    return CapError(f"expected {wanted} here:\n  {text}\n  {' ' * position}^")
