"""The answer key. Agents and providers can't import this module: import-linter says no."""

from dataclasses import dataclass

from pytest_crmeval.domain.messages import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the CRM is expected to be asked in one turn; arguments may refer to earlier results."""

    call: ToolCall
    succeeds: bool = True
    """Whether the CRM is expected to do it, or to refuse."""
