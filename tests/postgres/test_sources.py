"""Every expected value of the bundled suite has a source: it follows from what was said or shown before."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import pytest

from pytest_crmeval.domain.json import Json
from tests.reference_plays import BUNDLE, ReferencePlay
from tests.reference_steps import steps_of
from tests.sources import SOURCES, Leaf, Question, is_clear, kind_of, leaves_of, sources_of

PRIME = 7919
"""Draws evenly from any list, and always the same."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A value of a case, and its place."""

    case: str
    turn: int
    implied: bool
    questions: Sequence[Question]
    """The referent; several if the user wants two things at once."""

    def __str__(self) -> str:
        """Return the place for an error message."""
        said = self.questions[0].said[-1]
        return f"{self.case}, turn {self.turn}: {self.tool} {self.leaf.argument}={self.leaf.value!r}, after {said!r}"

    @property
    def tool(self) -> str:
        """The tool."""
        return self.questions[0].call.tool

    @property
    def leaf(self) -> Leaf:
        """The argument and its value."""
        return self.questions[0].leaf

    @cached_property
    def sources(self) -> list[str]:
        """Return the possible sources of the value."""
        return [source for question in self.questions for source in sources_of(question)]


def asked_in(play: ReferencePlay, implied: Mapping[int, Sequence[str]]) -> Iterator[Asked]:
    """Yield every value of the reference calls of a case with what was known by then."""
    case = play.case
    for step in steps_of(case, play.reference.transcript.exchanges, play.worlds):
        for leaf in leaves_of(step.event.call):
            ask = partial(Question, call=step.event.call, today=case.now.date(), said=step.said, leaf=leaf)
            exempt = leaf.argument in implied.get(step.turn, ())
            questions = [ask(moment=moment) for moment in step.moments]
            yield Asked(case=case.id, turn=step.turn, implied=exempt, questions=questions)


def implied_in(path: Path) -> dict[str, dict[int, Sequence[str]]]:
    """Return the arguments that are implied by the words of a turn, as stated in the file."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {
        record["conversation_id"]: {turn["turn_id"]: turn.get("implied_args", []) for turn in record["turns"]}
        for record in records
    }


@pytest.fixture(scope="module")
def asked(bundled_plays: list[ReferencePlay]) -> list[Asked]:
    """Return every expected value of the sample."""
    implied = implied_in(BUNDLE)
    return [value for play in bundled_plays for value in asked_in(play, implied[play.case.id])]


def test_every_expected_value_has_a_source(asked: list[Asked]) -> None:
    unknown = [str(value) for value in asked if not value.implied and not value.sources]

    assert [] == unknown, "\n".join(unknown)


def test_id_refers_to_exactly_one_record(asked: list[Asked]) -> None:
    """If several are possible, the words exclude all but one."""
    ids = [value for value in asked if kind_of(value.questions[0]) and value.leaf.argument != "quote_ids"]
    unclear = [str(value) for value in ids if not value.implied and not any(map(is_clear, value.questions))]

    assert len(ids) >= 1000
    assert [] == unclear, "\n".join(unclear)


def test_few_values_are_only_implied(asked: list[Asked]) -> None:
    """Values in `implied_args` are not checked, so they must be an exception."""
    trusted = [value for value in asked if value.implied and not value.sources]

    assert len(trusted) <= 0.01 * len(asked), "\n".join(map(str, trusted))


def test_sources_of_many_kinds_are_found(asked: list[Asked]) -> None:
    """Otherwise one that accepts everything could hide behind the others."""
    found = Counter(source for value in asked for source in value.sources)

    assert set() == {*SOURCES} - {*found, "default"}
    assert [] == [source for source, number in found.items() if number > 0.4 * len(asked)], found


def test_corrupted_values_have_no_source(asked: list[Asked]) -> None:
    wrong = corrupted(asked, 300)
    believed = [str(value) for value in wrong if value.sources]

    assert len(wrong) >= 250
    assert len(believed) <= 0.03 * len(wrong), "\n".join(believed)


@pytest.mark.parametrize("argument", ["amount", "close_date", "opportunity_id", "email", "stage", "title"])
def test_corrupted_values_of_each_argument_have_no_source(asked: list[Asked], argument: str) -> None:
    """Each separately, so that an average hides nothing."""
    wrong = corrupted([value for value in asked if value.leaf.argument == argument], 60)
    believed = [str(value) for value in wrong if value.sources]

    assert len(wrong) >= 20
    assert len(believed) <= 0.1 * len(wrong), "\n".join(believed)


def corrupted(asked: Sequence[Asked], number: int) -> list[Asked]:
    """Return some of the values, at most the requested number, each replaced by another one."""
    pools: dict[tuple[str, str], set[Json]] = defaultdict(set)
    for value in asked:
        pools[value.tool, value.leaf.argument].add(value.leaf.value)
    step = max(1, len(asked) // number)
    return [
        wrong for place, value in enumerate(asked[::step]) if (wrong := _corrupted(value, place, pools)) is not None
    ]


def _corrupted(value: Asked, place: int, pools: Mapping[tuple[str, str], set[Json]]) -> Asked | None:
    """Return a value with a replacement: for an id one of the same kind; None if there is no other."""
    question = value.questions[0]
    given = {leaf.value for leaf in leaves_of(question.call)}
    kind = kind_of(question)
    pool = question.moment.world.of(kind) if kind else pools[value.tool, value.leaf.argument]
    others = sorted({other for other in pool if other not in given}, key=str)
    if not others:
        return None
    leaf = Leaf(argument=value.leaf.argument, value=others[place * PRIME % len(others)])
    return replace(value, questions=[replace(question, leaf=leaf) for question in value.questions])
