"""How many tokens a call will take: asked before it is made, and learnt from those that were answered."""

from collections import deque

from pytest_crmeval.domain.prompt import Asking, Prompt
from pytest_crmeval.models.once import Once
from pytest_crmeval.models.usage_meter import UsageMeter

PER_CHARACTER = 1 / 3
"""Tokens, more than there are: a bound must not be too small."""
RECENT = 16
"""First calls that we learn from."""


class Guess:
    """Bounds on the tokens of calls to one model.

    The first call of a dialogue is known by its characters, the later ones by what the call before took. Servers count
    tools in their own ways; so how many tokens a character of a first call is worth is learnt.
    """

    def __init__(self, max_output_tokens: int) -> None:
        self._most = max_output_tokens
        self._learnt: deque[float] = deque(maxlen=RECENT)

    def bound(self, prompt: Prompt, meter: UsageMeter) -> int:
        """Return more tokens than the call will take: what the one before took, and what has been said since."""
        last = _before(prompt, meter)
        if last is None:
            return int(_characters(prompt) * self._per_character()) + self._most
        known = last.completion.usage.input + last.completion.usage.output
        fresh = prompt.messages[len(last.prompt.messages) :]
        return known + int(sum(len(repr(message)) for message in fresh) * PER_CHARACTER) + self._most

    def learn(self, asking: Asking, meter: UsageMeter) -> None:
        """Learn from an answer that is not on the meter yet; the later ones of a dialogue are nothing new."""
        read = asking.completion.usage.input
        if read and _before(asking.prompt, meter) is None:
            self._learnt.append(read / _characters(asking.prompt))

    def _per_character(self) -> float:
        return max(tuple(self._learnt), default=PER_CHARACTER)


def _before(prompt: Prompt, meter: UsageMeter) -> Asking | None:
    """Return the call before, if this one goes on from there."""
    last = meter.askings[-1] if meter.askings else None
    if last and last.prompt.tools is prompt.tools and last.prompt.system is prompt.system:
        return last
    return None


_LENGTH = Once(lambda tools: len(repr(tools)))


def _characters(prompt: Prompt) -> int:
    return len(prompt.system) + len(repr(prompt.messages)) + _LENGTH.of(prompt.tools)
