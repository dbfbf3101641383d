"""What the spec of a subject tells of it before it is made."""

from functools import lru_cache

from pytest_crmeval.agents.atlas.specs import AtlasSpec, AtlasSpecError, is_atlas
from pytest_crmeval.models.specs import is_model

HELD_OUT = "test"
"""The split that is for measuring: nobody learns from it."""


def asks_models(spec: str) -> bool:
    """Whether a subject asks language models that we know how to ask."""
    return is_model(spec) or is_atlas(spec)


@lru_cache(256)
def learns(spec: str) -> bool:
    """Whether a subject plays its cases one after the other, because it learns from each; one that can't be, does not.

    Whoever makes it says what is wrong with its spec.
    """
    try:
        return is_atlas(spec) and AtlasSpec.parse(spec).learns
    except AtlasSpecError:
        return False


def refusal(spec: str, marker: str) -> str:
    """Return why a subject is not given cases of a kind; nothing if it is."""
    return "atlas plays conversations only" if is_atlas(spec) and marker != "conversations" else ""
