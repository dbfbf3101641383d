"""In which order learners play: one case after the other, those that are for measuring only at the end."""

from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

from pytest_crmeval.agents.atlas.specs import AtlasSpec
from pytest_crmeval.collect.cases import PLANNED, param_of
from pytest_crmeval.domain.stream import Stream
from pytest_crmeval.player.subjects import HELD_OUT, learns

_TWICE = (
    "{1} learns from each conversation of the suite {0}, and two tests play {2}: the second time it would know it; "
    "give one of the tests a suite of its own, or choose one of them"
)


def put_learners_last(items: list[pytest.Item]) -> None:
    """Put the cases of learners behind all others, in the order in which they are played.

    They take longest, and an item that waits for its turn holds up those that xdist has dealt out behind it.
    """
    learning = [item for item in items if _learns(item)]
    if learning:
        ours = set(learning)
        items[:] = [item for item in items if item not in ours] + sorted(learning, key=_rank)


def streams_of(items: Iterable[pytest.Item]) -> Sequence[Stream]:
    """Return the streams of all learners, from items that are in their order."""
    found: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if _learns(item):
            planned = item.stash[PLANNED]
            found.setdefault((planned.suite, planned.subject), []).append(item)
    return tuple(map(_stream, found.values()))


def met_twice(items: Iterable[pytest.Item]) -> str:
    """Return why a learner would know a case when it plays it: another test plays it, too; nothing if none does."""
    learning = (item.stash[PLANNED] for item in items if _learns(item) and not is_held_out(item))
    counts = Counter((planned.suite, planned.subject, planned.case) for planned in learning)
    found = next((met for met, count in counts.items() if count > 1), None)
    return _TWICE.format(*found) if found else ""


def is_held_out(item: pytest.Item) -> bool:
    """Whether nobody learns from a case."""
    return param_of(item).ref.split == HELD_OUT


def _stream(items: Sequence[pytest.Item]) -> Stream:
    after = [item.stash[PLANNED].key for item in items if is_held_out(item)]
    return Stream(ordered=[item.stash[PLANNED].key for item in items if not is_held_out(item)], after=after)


def _learns(item: pytest.Item) -> bool:
    return PLANNED in item.stash and learns(item.stash[PLANNED].spec)


def _rank(item: pytest.Item) -> tuple[bool, str]:
    planned = item.stash[PLANNED]
    return is_held_out(item), AtlasSpec.parse(planned.spec).rank(f"{planned.suite} {planned.case}")
