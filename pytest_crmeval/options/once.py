"""What is made once for a config of pytest, and kept with it: options, redactor, context, what was collected."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

Made = TypeVar("Made")
_MADE = pytest.StashKey[dict[object, Any]]()


def once(config: pytest.Config, make: Callable[[pytest.Config], Made]) -> Made:
    """Return what ``make``, a function or a class, makes from a config; it is called once per config."""
    made = config.stash.setdefault(_MADE, {})
    if make not in made:
        made[make] = make(config)
    found: Made = made[make]
    return found
