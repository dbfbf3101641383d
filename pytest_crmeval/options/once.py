"""Values that are made once per pytest config and kept with it: options, redactor, context, collected cases."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import pytest

Made = TypeVar("Made")
_MADE = pytest.StashKey[dict[object, Any]]()


def once(config: pytest.Config, make: Callable[[pytest.Config], Made]) -> Made:
    """Return the value that ``make``, a function or a class, makes from a config; it is called once per config."""
    made = config.stash.setdefault(_MADE, {})
    if make not in made:
        made[make] = make(config)
    found: Made = made[make]
    return found


def once_per_config(make: Callable[[pytest.Config], Made]) -> Callable[[pytest.Config], Made]:
    """Decorate a function of a config so that its body runs once per config."""

    @wraps(make)
    def kept(config: pytest.Config) -> Made:
        return once(config, make)

    return kept
