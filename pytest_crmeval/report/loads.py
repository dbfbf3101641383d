"""Calls, tokens and seconds that are to be expected, and what is assumed of a case that nobody has played."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.report import costs as bills

CALLS_PER_TURN = 2.5
CHARACTERS_PER_TOKEN = 4
TOKENS_OUT = 80
"""Of one call."""
TOKENS_ADDED = 250
"""What one call adds to the prompt of the next: the reply, and what the CRM says."""
SECONDS_PER_CALL = 3.0
OPINION = Usage(input=4_000, output=250, calls=1)
"""What a judge takes for one opinion."""
MINUTE = 60.0
_PAYS_FOR_WRITING = "anthropic:"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSize:
    """How much of a case is known before it is played."""

    turns: int
    characters: int
    """Of all that the user says."""
    asked_once: bool = False
    """Whether it is a question, which takes one call."""
    overhead: int | None = None
    """Characters of the prompt and the tools that are sent with each call; None: as with other cases."""
    judged: bool = True
    """Whether a judge, if there is one, is asked about it."""
    held_out: bool = False
    """Whether nobody learns from it."""
    solutions: int = 0
    """Programs in a solution file; 0 for other cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEstimate:
    """Calls, tokens and seconds to be expected; fractions count until all is added up."""

    calls: float = 0.0
    input: float = 0.0
    cached: float = 0.0
    cache_written: float = 0.0
    output: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "UsageEstimate") -> "UsageEstimate":
        """Return both together."""
        return UsageEstimate(**{name: getattr(self, name) + getattr(other, name) for name in self.__slots__})

    def times(self, factor: float) -> "UsageEstimate":
        """Return so much of it."""
        return UsageEstimate(**{name: getattr(self, name) * factor for name in self.__slots__})

    @property
    def usage(self) -> Usage:
        """Whole tokens and calls."""
        counted = ("calls", "input", "cached", "cache_written", "output")
        return Usage(**{name: round(getattr(self, name)) for name in counted})

    @classmethod
    def of(cls, usage: Usage, seconds: float | None = None) -> "UsageEstimate":
        """Return what was taken; where the time is not known, the usual time of a call."""
        return cls(
            calls=usage.calls,
            input=usage.input,
            cached=usage.cached,
            cache_written=usage.cache_written,
            output=usage.output,
            seconds=usage.calls * SECONDS_PER_CALL if seconds is None else seconds,
        )


class Cap(Protocol):
    """What some models may be asked in a minute."""

    @property
    def requests(self) -> int | None:
        """Calls; None: as many as you like."""

    @property
    def tokens(self) -> int | None:
        """Tokens, read and written; None: as many as you like."""

    def holds_for(self, model: str, /) -> bool:
        """Whether it speaks of ``model``, which is provider:model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """How fast a run can go."""

    at_once: int
    """How many conversations are played at the same time."""
    workers: int = 1
    """How many solution files are judged at the same time."""
    caps: Sequence[Cap] = ()
    replayed: bool = False
    """Whether no model is asked: then it takes no time that is worth telling, and no money."""

    def elapsed(self, loads: Iterable[tuple[str, UsageEstimate]]) -> float:
        """Return the seconds that pass on the clock for the loads of specs, and no fewer than the caps allow."""
        if self.replayed:
            return 0.0
        known = [(spec.partition("?")[0], load) for spec, load in loads]
        held = [_held(together(load for model, load in known if cap.holds_for(model)), cap) for cap in self.caps]
        return max(together(load for _, load in known).seconds / self.at_once, *held, 0.0)


def guessed(size: CaseSize, overhead: int, spec: str) -> UsageEstimate:
    """Return what a case may take: each call reads the prompt, what was said, and what the calls before it added.

    ``overhead`` are the characters of the prompt and the tools. The first call of a case puts them into the provider's
    cache, and the others find them there; only Anthropic takes money for the putting.
    """
    calls = 1.0 if size.asked_once else size.turns * CALLS_PER_TURN
    prompt = (overhead if size.overhead is None else size.overhead) / CHARACTERS_PER_TOKEN
    said = size.characters / CHARACTERS_PER_TOKEN * (calls + 1) / 2
    added = TOKENS_ADDED * calls * (calls - 1) / 2
    return UsageEstimate(
        calls=calls,
        input=calls * prompt + said + added,
        cached=(calls - 1) * prompt,
        cache_written=prompt if spec.startswith(_PAYS_FOR_WRITING) else 0.0,
        output=calls * TOKENS_OUT,
        seconds=calls * SECONDS_PER_CALL,
    )


def assumptions() -> str:
    """Say what a guess is made from."""
    return (
        f"guessed: {CALLS_PER_TURN:g} calls for a turn, {CHARACTERS_PER_TOKEN} characters for a token, "
        f"{TOKENS_OUT} tokens out with a call, {TOKENS_ADDED} more in with the next, prompt and tools read from the "
        "cache by every call but the first of a case (with Anthropic that one pays for writing them), "
        f"{SECONDS_PER_CALL:g} s for a call; a question is one call"
    )


def assumed_opinion() -> str:
    """Say what the guess of an opinion is made from."""
    taken = f"{bills.number(OPINION.input)} tokens in and {OPINION.output} out"
    return f"guessed: {taken}, and {SECONDS_PER_CALL:g} s, for an opinion of the judge"


def together(loads: Iterable[UsageEstimate]) -> UsageEstimate:
    """Return all of them as one."""
    return sum(loads, start=UsageEstimate())


def clock(seconds: float) -> str:
    """Return a time as it is said."""
    minutes = round(seconds / MINUTE)
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004 (an hour)


def _held(load: UsageEstimate, cap: Cap) -> float:
    """Return the seconds that a cap makes it last."""
    return max(_lasts(load.calls, cap.requests), _lasts(load.input + load.output, cap.tokens))


def _lasts(amount: float, per_minute: int | None) -> float:
    return amount / per_minute * MINUTE if per_minute else 0.0
