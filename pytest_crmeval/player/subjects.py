"""Properties of a subject that follow from its spec."""

from functools import lru_cache

from pytest_crmeval.agents.atlas.specs import AtlasSpec, AtlasSpecError, is_atlas
from pytest_crmeval.models.specs import is_model

HELD_OUT = "test"
"""The split for measuring; learners don't learn from it."""


def asks_models(spec: str) -> bool:
    """Whether a subject calls language models through us."""
    return is_model(spec) or is_atlas(spec)


@lru_cache(256)
def learns(spec: str) -> bool:
    """Whether a subject learns, so that its cases are played one after the other.

    False for an invalid spec; the error is reported when the subject is created.
    """
    try:
        return is_atlas(spec) and AtlasSpec.parse(spec).learns
    except AtlasSpecError:
        return False


@lru_cache(256)
def refusal(spec: str, marker: str) -> str:
    """Return why a subject can't play the cases of a marker; empty if it can."""
    return "atlas plays conversations only" if is_atlas(spec) and marker != "conversations" else ""
