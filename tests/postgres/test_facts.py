"""Every fact that a reply must contain follows from the results of the calls and from the user's words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import pytest

from pytest_crmeval.domain.json import Json
from pytest_crmeval.ports.crm_calls import writes
from tests.facts import DERIVATIONS, Shown, derivation
from tests.reference_plays import ReferencePlay
from tests.reference_steps import steps_of

PRIME = 7919
"""Draws evenly from any list, and always the same."""


@dataclass(frozen=True, kw_only=True)
class Due:
    """The facts that the reply of a turn must contain, and what was shown by then."""

    case: str
    turn: int
    facts: Sequence[Json]
    shown: Sequence[Shown]
    """The referent; several if the user wants two things at once; none if nothing was called."""

    def __str__(self) -> str:
        """Return the place for an error message."""
        said = self.shown[0].moment.words[-1] if self.shown else ""
        return f"{self.case}, turn {self.turn}: {list(self.facts)}, after {said!r}"

    @property
    def derivation(self) -> str:
        """Return how the facts follow from what was shown; empty if they don't."""
        return next(filter(None, (derivation(shown, self.facts) for shown in self.shown)), "")


def due_in(play: ReferencePlay) -> Iterator[Due]:
    """Yield the facts of the replies of a case."""
    case = play.case
    wanted = {number: turn.expectation for number, turn in enumerate(case.turns, start=1) if turn.expectation.facts}
    shown: dict[int, list[Shown]] = {number: [] for number in wanted}
    for step in steps_of(case, play.reference.transcript.exchanges, play.worlds) if wanted else ():
        call, value = step.event.call, step.event.result.value
        if step.turn in wanted and call.tool and not writes(call.tool):
            asks = wanted[step.turn].asks
            shown[step.turn] += [Shown(moment=each, tool=call.tool, value=value, asks=asks) for each in step.moments]
    for number, expectation in wanted.items():
        yield Due(case=case.id, turn=number, facts=expectation.facts or (), shown=shown[number])


@pytest.fixture(scope="module")
def due(bundled_plays: list[ReferencePlay]) -> list[Due]:
    """Return every fact of the sample."""
    return [each for play in bundled_plays for each in due_in(play)]


def test_every_expected_fact_follows_from_the_results_of_the_crm(due: list[Due]) -> None:
    """The oracle repeats facts without checking them; here they are derived independently."""
    unknown = [str(each) for each in due if not each.derivation]

    assert [] == unknown, "\n".join(unknown)


def test_every_kind_of_derivation_occurs(due: list[Due]) -> None:
    """Otherwise one that accepts everything could hide behind the others."""
    found = Counter(each.derivation for each in due)

    assert {*DERIVATIONS} == {*found}, found


@pytest.mark.parametrize("way", DERIVATIONS)
def test_corrupted_facts_are_detected(due: list[Due], way: str) -> None:
    """Of another row, one more or less, the other end, another day, one too few: each kind separately."""
    wrong = [each for place, right in enumerate(due) if right.derivation == way for each in corrupted(right, place)]
    believed = [str(each) for each in wrong if each.derivation]

    assert len(wrong) >= 5
    assert [] == believed, "\n".join(believed)


def corrupted(right: Due, place: int) -> Iterator[Due]:
    """Yield a turn with other facts, in every possible way."""
    for corrupt in (_of_another_row, _of_another_column, _nudged, _dropped, _one_more, _instead_of_nothing):
        facts = corrupt(right, place)
        if facts and {*facts} != {*right.facts}:
            yield replace(right, facts=facts)


def _swapped(facts: Sequence[Json], place: int, other: Json) -> list[Json]:
    at = place % len(facts)
    return [*facts[:at], other, *facts[at + 1 :]]


def _of_another_row(right: Due, place: int) -> Sequence[Json]:
    """Return the value of another record in the same column: of those found, if possible."""
    fact = right.facts[place % len(right.facts)]
    world = right.shown[0].moment.world
    found = _others(right.shown[0].rows, fact) or _others(list(world.rows.values()), fact)
    others = sorted({each for each in found if each not in right.facts}, key=str)
    return _swapped(right.facts, place, others[place * PRIME % len(others)]) if others else ()


def _others(rows: Sequence[Mapping[str, Json]], fact: Json) -> list[Json]:
    columns = {column for row in rows for column, value in row.items() if value == fact}
    return [row[column] for row in rows for column in columns if row.get(column) is not None]


def _of_another_column(right: Due, place: int) -> Sequence[Json]:
    """Return another part of the answer: another figure, another column of the same row."""
    shown = right.shown[0]
    whole = [shown.value] if isinstance(shown.value, Mapping) else []
    fact = right.facts[place % len(right.facts)]
    near = [row for row in shown.rows or whole if fact in row.values()]
    cells = [cell for row in near for cell in row.values() if isinstance(cell, str | int | float)]
    others = sorted({cell for cell in cells if cell not in right.facts}, key=str)
    return _swapped(right.facts, place, others[place * PRIME % len(others)]) if others else ()


def _nudged(right: Due, place: int) -> Sequence[Json]:
    """Return a number that is one too large or too small, or the day after."""
    fact = right.facts[place % len(right.facts)]
    if isinstance(fact, int | float):
        return _swapped(right.facts, place, fact + (1 if place % 2 else -1))
    try:
        return _swapped(right.facts, place, (date.fromisoformat(str(fact)) + timedelta(days=1)).isoformat())
    except ValueError:
        return ()


def _dropped(right: Due, place: int) -> Sequence[Json]:
    """Return one fact fewer."""
    at = place % len(right.facts)
    return [*right.facts[:at], *right.facts[at + 1 :]]


def _one_more(right: Due, place: int) -> Sequence[Json]:
    """Return the facts with that of a row that was not found."""
    swapped = _of_another_row(right, place)
    return [*right.facts, *(fact for fact in swapped if fact not in right.facts)]


def _instead_of_nothing(right: Due, place: int) -> Sequence[Json]:
    """Return a record if there is none, and none if there is one."""
    names = sorted(right.shown[0].moment.world.names.values())
    return [names[place * PRIME % len(names)]] if list(right.facts) == ["nothing"] else ["nothing"]
