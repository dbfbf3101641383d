"""Expected calls, tokens and seconds, and the assumptions about cases that were never played."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.report import costs as bills

CALLS_PER_TURN = 2.5
CHARACTERS_PER_TOKEN = 4
TOKENS_OUT = 80
"""Per call."""
TOKENS_ADDED = 250
"""Added by one call to the prompt of the next: the reply, and the result of the CRM."""
SECONDS_PER_CALL = 3.0
OPINION = Usage(input=4_000, output=250, calls=1)
"""Usage of a judge for one opinion."""
MINUTE = 60.0
_PAYS_FOR_WRITING = "anthropic:"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSize:
    """What is known about a case before it is played."""

    turns: int
    characters: int
    """In all messages of the user."""
    asked_once: bool = False
    """Whether it is a question, which takes one call."""
    overhead: int | None = None
    """Characters of the prompt and the tools that are sent with each call; None: the same as for other cases."""
    judged: bool = True
    """Whether a judge, if there is one, grades it."""
    held_out: bool = False
    """Whether it is not learned from."""
    solutions: int = 0
    """Programs in a solution file; 0 for other cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEstimate:
    """Expected calls, tokens and seconds; fractions count until everything is added up."""

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
        """Return the estimate times a factor."""
        return UsageEstimate(**{name: getattr(self, name) * factor for name in self.__slots__})

    @property
    def usage(self) -> Usage:
        """Whole tokens and calls."""
        counted = ("calls", "input", "cached", "cache_written", "output")
        return Usage(**{name: round(getattr(self, name)) for name in counted})

    @classmethod
    def of(cls, usage: Usage, seconds: float | None = None) -> "UsageEstimate":
        """Return an estimate from a usage; if the time is unknown, with the usual time of a call."""
        return cls(
            calls=usage.calls,
            input=usage.input,
            cached=usage.cached,
            cache_written=usage.cache_written,
            output=usage.output,
            seconds=usage.calls * SECONDS_PER_CALL if seconds is None else seconds,
        )


class RateCap(Protocol):
    """A rate limit of some models, per minute."""

    @property
    def requests(self) -> int | None:
        """Calls; None: unlimited."""

    @property
    def tokens(self) -> int | None:
        """Tokens, read and written; None: unlimited."""

    def holds_for(self, model: str, /) -> bool:
        """Whether it applies to ``model``, which is provider:model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """How fast a run can be."""

    at_once: int
    """How many conversations are played at the same time."""
    workers: int = 1
    """How many solution files are run at the same time."""
    caps: Sequence[RateCap] = ()
    replayed: bool = False
    """Whether calls are replayed: they take no money, and almost no time."""

    def elapsed(self, loads: Iterable[tuple[str, UsageEstimate]]) -> float:
        """Return the wall time in seconds for the loads of specs, within the caps."""
        if self.replayed:
            return 0.0
        known = [(spec.partition("?")[0], load) for spec, load in loads]
        held: list[float] = []
        for cap in self.caps:
            load = total_load(load for model, load in known if cap.holds_for(model))
            held += (_lasts(load.calls, cap.requests), _lasts(load.input + load.output, cap.tokens))
        return max(total_load(load for _, load in known).seconds / self.at_once, *held, 0.0)


def guessed(size: CaseSize, overhead: int, spec: str) -> UsageEstimate:
    """Return a guess for a case: each call reads the prompt, the messages, and what earlier calls added.

    ``overhead`` are the characters of the prompt and the tools. The first call of a case writes them to the
    provider's cache, and the others read them from it; only Anthropic charges for writing.
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
    """Return the assumptions of a guess."""
    return (
        f"assumed: {CALLS_PER_TURN:g} calls per turn, {CHARACTERS_PER_TOKEN} characters per token, "
        f"{TOKENS_OUT} tokens out per call, which add {TOKENS_ADDED} tokens in to the next call; prompt and tools are "
        "cached after the first call of a case (Anthropic charges for writing the cache); "
        f"{SECONDS_PER_CALL:g} s per call; a question takes one call"
    )


def assumed_opinion() -> str:
    """Return the assumptions of a guess for an opinion."""
    tokens = f"{bills.number(OPINION.input)} tokens in and {OPINION.output} out"
    return f"assumed: {tokens}, and {SECONDS_PER_CALL:g} s, per opinion of the judge"


def total_load(loads: Iterable[UsageEstimate]) -> UsageEstimate:
    """Return the sum of estimates."""
    return sum(loads, start=UsageEstimate())


def clock(seconds: float) -> str:
    """Return a duration for people."""
    minutes = round(seconds / MINUTE)
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004 (an hour)


def _lasts(amount: float, per_minute: int | None) -> float:
    return amount / per_minute * MINUTE if per_minute else 0.0
