"""Upper bounds on the tokens of a call before it is made, learnt from earlier calls."""

from collections import deque

from pytest_crmeval.models.backend import ToolsCache
from pytest_crmeval.models.usage_meter import UsageMeter
from pytest_crmeval.ports.chat_model import ModelCall, Prompt

PER_CHARACTER = 1 / 3
"""Tokens per character, rather too many: a bound must not be too small."""
RECENT = 16
"""How many recent first calls the bound is learnt from."""


class TokenEstimate:
    """Bounds on the tokens of calls to one model.

    The bound of the first call of a dialogue is based on its characters, that of later calls on the usage of the call
    before. Servers count the tokens of tools differently, so the tokens per character of first calls are learnt.
    """

    def __init__(self, max_output_tokens: int) -> None:
        self._most = max_output_tokens
        self._learnt: deque[float] = deque(maxlen=RECENT)

    def bound(self, prompt: Prompt, meter: UsageMeter) -> int:
        """Return an upper bound: the usage of the call before, plus the messages since and the maximum output."""
        last = _before(prompt, meter)
        if last is None:
            return int(_characters(prompt) * max(tuple(self._learnt), default=PER_CHARACTER)) + self._most
        known = last.completion.usage.input + last.completion.usage.output
        fresh = prompt.messages[len(last.prompt.messages) :]
        return known + int(sum(len(repr(message)) for message in fresh) * PER_CHARACTER) + self._most

    def learn(self, asking: ModelCall, meter: UsageMeter) -> None:
        """Learn from the answer to a first call, before it is on the meter; later calls of a dialogue are ignored."""
        read = asking.completion.usage.input
        if read and _before(asking.prompt, meter) is None:
            self._learnt.append(read / _characters(asking.prompt))


def _before(prompt: Prompt, meter: UsageMeter) -> ModelCall | None:
    """Return the call before, if this one continues its dialogue."""
    last = meter.calls[-1] if meter.calls else None
    if last and last.prompt.tools is prompt.tools and last.prompt.system is prompt.system:
        return last
    return None


_LENGTH = ToolsCache(lambda tools: len(repr(tools)))


def _characters(prompt: Prompt) -> int:
    return len(prompt.system) + len(repr(prompt.messages)) + _LENGTH.of(prompt.tools)
