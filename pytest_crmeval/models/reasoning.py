"""Which models think before they answer, and how that is controlled.

The facts are those of the providers' documentation in November 2026. A model that is not recognised is treated as one
that does not think, unless its spec asks for an effort or for thinking tokens.
"""

import re
from collections.abc import Mapping
from typing import Any

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
REPLY_TOKENS = 800
"""Output tokens of one reply, without thoughts."""
ROOM = 16_000
"""Output tokens of a model that thinks: thoughts count as output."""
FEWEST = 1_024
"""The smallest number of thinking tokens that Anthropic accepts."""
_BUDGETS: Mapping[str, int] = {"low": 2_000, "medium": 8_000, "high": 16_000, "xhigh": 24_000, "max": 32_000}
"""Effort -> thinking tokens, for Claude models that don't know efforts."""
_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2})(?!\d))?")
_THINKING = re.compile(
    r"""(?:^|[/.:])(?:o\d\b|gpt-(?:[5-9]|\d\d)(?!\S*-chat)|gpt-oss|codex|gemini-(?:2\.5|[3-9])|qwq|magistral
        |qwen-?3(?!\S*(?:instruct|coder|max))|grok-(?:[4-9]|3-mini)(?!\S*non-reasoning)
        |glm-(?:4\.[5-9]|[5-9])|minimax-m\d)
    |[-/](?:thinking|reasoner|(?<!non-)reasoning|r1)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_ADAPTIVE: Mapping[str, str] = {"type": "adaptive", "display": "summarized"}
_KNOWS_EFFORT, _REFUSES_BUDGET, _THINKS = (4, 6), (4, 7), (5, 0)


def claude_version(model: str) -> tuple[int, int] | None:
    """Return the version of a Claude model: (4, 5) for claude-sonnet-4-5-20250929; None for other models."""
    found = _CLAUDE.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else None


def thinks(model: str, effort: str, thinking: int) -> bool:
    """Whether a model thinks: because it is asked to, or by default."""
    if effort or thinking:
        return effort != "none"
    version = claude_version(model)
    return version >= _THINKS if version else bool(_THINKING.search(model))


def takes_budget(model: str) -> bool:
    """Whether a model may be given thinking tokens: Claude decides itself since version 4.7."""
    return (claude_version(model) or (0, 0)) < _REFUSES_BUDGET


def refuses_temperature(model: str, effort: str, thinking: int) -> bool:
    """Whether a Claude model refuses a temperature: all since version 4.7, and others while they think."""
    version = claude_version(model)
    return bool(version) and (not takes_budget(model) or thinks(model, effort, thinking))


def budget(model: str, effort: str, thinking: int) -> int:
    """Return the thinking tokens that are requested of a model; 0 if it decides itself."""
    version = claude_version(model)
    knows_no_effort = version is not None and version < _KNOWS_EFFORT
    return thinking or (_BUDGETS.get(effort, 0) if knows_no_effort else 0)


def claude_parameters(model: str, effort: str, thinking: int) -> dict[str, Any]:
    """Return the parameters of Anthropic's API that control thinking; empty if none is needed."""
    version = claude_version(model)
    if tokens := budget(model, effort, thinking):
        return {"thinking": {"type": "enabled", "budget_tokens": tokens}}
    if effort == "none":
        return {} if version and version < _THINKS else {"thinking": {"type": "disabled"}}
    if effort:
        return {"thinking": dict(_ADAPTIVE), "output_config": {"effort": effort}}
    return {"thinking": dict(_ADAPTIVE)} if version and version >= _THINKS else {}
