"""A conversation: who says what, and what the CRM holds when it starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.json import Json

Seed = Mapping[str, Mapping[str, Mapping[str, Json]]]
"""Rows that the CRM starts with: entity name -> id -> attributes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance of the user, and its answer key."""

    utterance: str
    expectation: Expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A multi-turn dialogue with the rows that the CRM starts with."""

    id: str
    fingerprint: str
    """Changes when the content of the case changes."""
    turns: Sequence[Turn]
    seed: Seed
    complexity: str = "simple"
    category: str = "General"
