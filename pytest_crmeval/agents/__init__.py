"""The agents that are evaluated, and those that have a name out of the box."""

from collections.abc import Mapping

NAMED_AGENTS: Mapping[str, str] = {
    "claude": "anthropic:claude-sonnet-5-5",
    "claude-sonnet-4-5": "anthropic:claude-sonnet-4-5-20250929",
    "gpt-4.1": "openai:gpt-4.1",
    "gpt-4.1-mini": "openai:gpt-4.1-mini",
}
"""Named agents out of the box; ``crmeval_agents`` adds to them. ``claude`` is the current Sonnet."""

FORMER_MODELS: Mapping[str, str] = {"claude-sonnet-5-5": "claude-sonnet-4-5-20250929"}
"""The model that a named agent asked before: cassettes of that time are still replayed."""

ORACLE = "oracle"
CONTROLS = (ORACLE, "mute")
"""Agents whose score is known beforehand: they check the harness, and are not evaluated themselves."""
