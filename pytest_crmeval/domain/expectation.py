"""The answer key. Agents and providers can't import this module: import-linter says no."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The reply as the published format has it: to the letter."""

    text: str = ""
    others: Sequence[str] = ()
    """Further wordings that count as well."""
    judged: bool = False
    """Whether a judge was meant to decide."""


ANY_ERROR = "validation error"
"""As the text of a refusal, the published format lets this stand for every refusal."""


NO_CALL = ToolCall(tool="", arguments={})
"""In place of a call: what the user wants is not for the CRM, or can't be done before more is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the CRM is expected to be asked in one turn; arguments may refer to earlier results."""

    call: ToolCall
    """What to ask first; without a tool (``NO_CALL``) there is nothing to ask, and the reply says so or asks back."""
    further: Sequence[ToolCall] = ()
    """What to ask then, if the user wants several things at once; they may refer to what the first one returned."""
    succeeds: bool = True
    """Whether the CRM is expected to do it, or to refuse; of ``further`` calls success is always expected."""
    refusal: str = ""
    """What the refusal says, in part and in any case; empty if any will do."""
    facts: Sequence[Json] | None = None
    """What the reply has to say; None if that follows from what the CRM answers."""
    asks: bool = False
    """Whether the reply has to ask back."""
    answer: Answer | None = None

    @property
    def calls(self) -> Sequence[ToolCall]:
        """All calls, in their order; none, if there is nothing to ask."""
        return (self.call, *self.further) if self.call.tool else ()

    @property
    def parts(self) -> Sequence["Expectation"]:
        """What is expected of each call for itself: of the first what the case says, of the others success."""
        if not self.further:
            return (self,)
        facts = None if self.facts is None else ()
        return (
            replace(self, further=()),
            *(Expectation(call=call, facts=facts, asks=self.asks) for call in self.further),
        )

    def is_met_by(self, result: ToolResult) -> bool:
        """Whether the CRM answers the call as expected: does it, or refuses it in such words."""
        if result.error is None or self.succeeds:
            return self.succeeds and not result.refused
        return self.refusal.lower() == ANY_ERROR or self.refusal.lower() in result.error.message.lower()
