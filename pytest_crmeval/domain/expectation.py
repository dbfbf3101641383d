"""The answer key. Agents and providers can't import this module: import-linter says no."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The reply as the published format has it: to the letter."""

    text: str = ""
    others: Sequence[str] = ()
    """Further wordings that count as well."""
    judged: bool = False
    """Whether a judge was meant to decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the CRM is expected to be asked in one turn; arguments may refer to earlier results."""

    call: ToolCall
    succeeds: bool = True
    """Whether the CRM is expected to do it, or to refuse."""
    refusal: str = ""
    """What the refusal says, in part and in any case; empty if any will do."""
    facts: Sequence[Json] | None = None
    """What the reply has to say; None if that follows from what the CRM answers."""
    answer: Answer | None = None
