"""The answer key. Agents and providers can't import this module: import-linter enforces this."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedReply:
    """The expected reply of the published format, word for word."""

    text: str = ""
    others: Sequence[str] = ()
    """Further accepted wordings."""
    judged: bool = False
    """Whether a judge was meant to decide."""


ANY_ERROR = "validation error"
"""In the published format, a refusal with this text stands for any refusal."""


NO_CALL = ToolCall(tool="", arguments={})
"""Stands for no call: the CRM can't do what the user wants, or the agent has to ask for more first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The expected calls and reply of one turn; arguments may refer to earlier results."""

    call: ToolCall
    """The first call; with ``NO_CALL`` there is none, and the reply says so or asks back."""
    further: Sequence[ToolCall] = ()
    """Further calls, if the user wants several things at once; they may refer to the result of the first."""
    succeeds: bool = True
    """Whether the first call is expected to succeed; ``further`` calls always are."""
    refusal: str = ""
    """A part of the refusal's message, in any case; empty if any refusal is accepted."""
    facts: Sequence[Json] | None = None
    """The facts that the reply must state; None if they follow from the CRM's answer."""
    asks: bool = False
    """Whether the reply must ask back."""
    answer: PublishedReply | None = None
    mistakes: Mapping[str, Sequence[ToolCall]] = field(default_factory=dict)
    """Name of a typical mistake -> the calls of an agent that makes it in this turn."""

    @property
    def calls(self) -> Sequence[ToolCall]:
        """All calls in order; empty for ``NO_CALL``."""
        return (self.call, *self.further) if self.call.tool else ()

    @property
    def parts(self) -> Sequence["Expectation"]:
        """One expectation per call: that of the case for the first, success for the others."""
        if not self.further:
            return (self,)
        facts = None if self.facts is None else ()
        return (
            replace(self, further=()),
            *(Expectation(call=call, facts=facts, asks=self.asks) for call in self.further),
        )

    def is_met_by(self, result: ToolResult) -> bool:
        """Whether the result is a success, or a refusal with the expected message, as expected."""
        if result.error is None or self.succeeds:
            return self.succeeds and not result.refused
        return self.refusal.lower() == ANY_ERROR or self.refusal.lower() in result.error.message.lower()
