"""Tags of cases as marks of pytest, for ``-m`` and ``-k``."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pytest

from pytest_crmeval.options.once import once

if TYPE_CHECKING:  # msgspec is wanted only when a marked test is collected
    from pytest_crmeval.player.kinds import Ref

SHOWN = 5
"""How many tags of a file are refused at once."""
_UNSPEAKABLE = re.compile(r"[^\w+\-.\[\]\\/]+")
"""What no name in ``-m`` can hold; the colon could be said, but ends a name where marks are registered."""


class _Marks:
    """The marks of tags."""

    def __init__(self, _: pytest.Config) -> None:
        self.registered: set[str] = set()
        self.refused: dict[str, None] = {}
        """What to say about tags that another plugin would act on, in order."""


def mark_name(tag: str) -> str:
    """Return what ``-m`` calls a tag: ``two_requests`` for "two requests"; nothing if it has no sayable character."""
    return _UNSPEAKABLE.sub("_", tag).lstrip("_")  # pytest has no marks that begin with an underscore


def marks_of(config: pytest.Config, refs: "Iterable[Ref]") -> Mapping[str, pytest.MarkDecorator]:
    """Register a mark for each tag and return them; a tag that is already a mark gets none, and is noted."""
    first: dict[str, Ref] = {}
    for ref in refs:
        for tag in ref.tags:
            first.setdefault(tag, ref)
    names = {tag: name for tag in first if (name := mark_name(tag))}
    marks = once(config, _Marks)
    declared = {line.partition(":")[0].partition("(")[0].strip() for line in config.getini("markers")}
    taken = declared - marks.registered  # pytest, a plugin, a conftest or the project may act on these
    for tag, name in names.items():
        if name in taken:
            place = f"{first[tag].path}:{first[tag].line}"
            why = f"tag {tag!r} is also the marker {name!r} of pytest, a plugin or your project, which might act on it"
            marks.refused[f"{place}: {why}; rename the tag"] = None
    free = {tag: name for tag, name in names.items() if name not in taken}
    # All before the first is made: pytest reads the whole list again for a name that it has not met.
    for name in dict.fromkeys(free.values()):
        if name not in marks.registered:
            config.addinivalue_line("markers", f"{name}: a tag of cases (crmeval)")
            marks.registered.add(name)
    return {tag: getattr(pytest.mark, name) for tag, name in free.items()}


def acting_tags(config: pytest.Config) -> str:
    """Return which tags are marks already, and where they are; empty if there are none."""
    refused = [*once(config, _Marks).refused]
    more = [f"... and {len(refused) - SHOWN} more"] if len(refused) > SHOWN else []
    return "\n".join(refused[:SHOWN] + more)
