"""Tags of cases as marks of pytest, for ``-m`` and ``-k``."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pytest

from pytest_crmeval.options.once import once

if TYPE_CHECKING:  # msgspec is needed only when a marked test is collected
    from pytest_crmeval.player.kinds import Ref

SHOWN = 5
"""Maximum number of refused tags in an error message."""
_UNSPEAKABLE = re.compile(r"[^\w+\-.\[\]\\/]+")
"""Characters that ``-m`` does not allow in names; also the colon, which ends the name in a mark's registration."""


class _Marks:
    """The marks of tags."""

    def __init__(self, _: pytest.Config) -> None:
        self.registered: set[str] = set()
        self.refused: dict[str, None] = {}
        """Errors about tags that another plugin might act on, in order."""


def mark_name(tag: str) -> str:
    """Return the name of a tag for ``-m``: ``two_requests`` for "two requests"; empty if no character is valid."""
    return _UNSPEAKABLE.sub("_", tag).lstrip("_")  # marks must not begin with an underscore


def marks_of(config: pytest.Config, refs: "Iterable[Ref]") -> Mapping[str, pytest.MarkDecorator]:
    """Register a mark for each tag and return them; a tag that is already a mark becomes an error."""
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
    # Register all before the first is created: pytest reads the whole list again for each unknown name.
    for name in dict.fromkeys(free.values()):
        if name not in marks.registered:
            config.addinivalue_line("markers", f"{name}: a tag of cases (crmeval)")
            marks.registered.add(name)
    return {tag: getattr(pytest.mark, name) for tag, name in free.items()}


def tag_conflicts(config: pytest.Config) -> str:
    """Return errors about tags that are already marks; empty if there are none."""
    refused = [*once(config, _Marks).refused]
    more = [f"... and {len(refused) - SHOWN} more"] if len(refused) > SHOWN else []
    return "\n".join(refused[:SHOWN] + more)
