"""The order in which learners play: one case after the other, held-out cases at the end."""

from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

from pytest_crmeval.agents.atlas.specs import AtlasSpec
from pytest_crmeval.collect.case_item import CaseItem
from pytest_crmeval.domain.records import Record
from pytest_crmeval.player.subjects import HELD_OUT, learns

_TWICE = (
    "{1} learns from each conversation of the suite {0}, but two tests play {2}: the second time, it would know the "
    "answer; give one of the tests its own suite, or run only one of them"
)


class Stream(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The cases of one learner."""

    ordered: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """Cases that are played afterwards, in any order."""


def put_learners_last(items: list[pytest.Item], cases: list[CaseItem]) -> list[CaseItem]:
    """Move the cases of learners behind all others, in the order in which they are played; return all cases.

    They take longest, and an item that waits for its turn holds up those that xdist has assigned after it.
    """

    def rank(case: CaseItem) -> tuple[bool, str]:
        planned = case.planned
        return is_held_out(case), AtlasSpec.parse(planned.spec).rank(f"{planned.suite} {planned.case}")

    learning = sorted((case for case in cases if learns(case.planned.spec)), key=rank)
    if not learning:
        return cases
    last = {case.item for case in learning}
    items[:] = [*(item for item in items if item not in last), *(case.item for case in learning)]
    return [*(case for case in cases if case.item not in last), *learning]


def streams_of(cases: Iterable[CaseItem]) -> Sequence[Stream]:
    """Return the streams of all learners, from ordered cases."""
    found: dict[tuple[str, str], list[CaseItem]] = {}
    for case in cases:
        if learns(case.planned.spec):
            found.setdefault((case.planned.suite, case.planned.subject), []).append(case)
    return tuple(
        Stream(
            ordered=tuple(case.planned.key for case in stream if not is_held_out(case)),
            after=tuple(case.planned.key for case in stream if is_held_out(case)),
        )
        for stream in found.values()
    )


def played_twice(cases: Iterable[CaseItem]) -> str:
    """Return an error if two tests play the same case with a learner, which would know it then; empty if not."""
    learning = (case.planned for case in cases if learns(case.planned.spec) and not is_held_out(case))
    counts = Counter((planned.suite, planned.subject, planned.case) for planned in learning)
    found = next((met for met, count in counts.items() if count > 1), None)
    return _TWICE.format(*found) if found else ""


def is_held_out(case: CaseItem) -> bool:
    """Whether a case is held out: learners are measured with it, and don't learn from it."""
    return case.param.ref.split == HELD_OUT
