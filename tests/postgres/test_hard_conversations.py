"""The bundled hard conversations, played: they can be passed, their values have sources, typical mistakes fail."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from pytest_crmeval.agents.scripted import mute
from pytest_crmeval.conversations.calibration.difficulty import Difficulty, measured
from pytest_crmeval.conversations.consistency import inconsistencies
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe
from pytest_crmeval.conversations.scorers.named import SCORERS
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.trouble import Change
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.ports.crm_calls import writes
from tests.hard_sources import Known, leaves, source_of
from tests.reference_plays import ReferencePlay
from tests.referents import World

PRIME = 7919
EIGHT = (
    *("first-match", "never-asks", "ignores-policy", "answers-from-memory"),
    *("one-page", "trusts-notes", "rounds-wrongly", "skips-re-reading"),
)


@dataclass(frozen=True, kw_only=True)
class Written:
    """A value that a reference call writes."""

    where: str
    call: ToolCall
    argument: str
    value: Json
    known: Known

    @property
    def source(self) -> str:
        """Where the value comes from; empty if it has no source."""
        return source_of(self.known, self.call, self.argument, self.value)


def scores(play: ReferencePlay, agent: Agent, crm: Crm) -> list[str]:
    """Return the scores that an agent passes."""
    evidence = observe(play.case, agent, crm, play.reference)
    return [name for name in ("state", "calls", "reply") if SCORERS[name](play.case, evidence).passed]


def written_in(play: ReferencePlay) -> Iterator[Written]:
    """Yield all values that the reference calls of a case write."""
    case, worlds = play.case, iter(play.worlds)
    before = World(state=play.reference.before)
    said = [exchange.messages[0].text for exchange in play.reference.transcript.exchanges]
    for number, exchange in enumerate(play.reference.transcript.exchanges, start=1):
        rules, words = case.policy, said[:number]
        world = before
        for _ in (trouble for trouble in case.trouble if isinstance(trouble, Change) and trouble.turn == number):
            world = next(worlds)
        for call, result in exchange.calls:
            if not result.error:  # a locked record is refused before the CRM is asked
                world = next(worlds)
            known = Known(
                said="\n".join([rules, *words]),
                lately="\n".join([rules, *words[-2:]]),
                today=case.now.date(),
                world=world,
                before=before,
            )
            where = f"{case.id}, turn {number}, after {words[-1]!r}"
            for argument, value in leaves(call).items() if writes(call.tool) and not result.refused else ():
                yield Written(where=where, call=call, argument=argument, value=value, known=known)


@pytest.fixture(scope="module")
def written(hard_plays: list[ReferencePlay]) -> Sequence[Written]:
    """Return all values that the sample writes."""
    return [value for play in hard_plays for value in written_in(play)]


@pytest.fixture(scope="module")
def difficulty(hard_plays: list[ReferencePlay], crm: Crm) -> Difficulty:
    """Return what the weak agents pass of a part of the sample."""
    return measured([(play.case, play.reference) for play in hard_plays[::2]], crm)


def test_every_hard_case_can_be_passed_but_not_by_saying_nothing(hard_plays: list[ReferencePlay], crm: Crm) -> None:
    for play in hard_plays:
        assert [] == [*play.case.defects, *inconsistencies(play.case, play.reference)], play.case.id
        assert ["state", "calls", "reply"] == scores(play, Oracle(play.case), crm), play.case.id
        assert "reply" not in scores(play, mute(), crm), play.case.id


def test_every_value_that_is_written_has_a_source(written: Sequence[Written]) -> None:
    unknown = [f"{each.where}: {each.argument}={each.value!r}" for each in written if not each.source]

    assert len(written) > 250
    assert [] == unknown, "\n".join(unknown)


def test_corrupted_amounts_and_ids_have_no_source(written: Sequence[Written]) -> None:
    """Otherwise the finder would believe anything."""
    amounts = [replace(each, value=each.value + 3) for each in written if isinstance(each.value, int | float)]
    ids = [each for each in written if each.argument.endswith("_id")]
    swapped = [replace(each, value=_other(each, place)) for place, each in enumerate(ids)]

    # Another record of a salesperson who is named can't be told from those that are meant.
    for wrong, share in ((amounts, 0.05), (swapped, 0.25)):
        believed = [f"{each.where}: {each.argument}={each.value!r}" for each in wrong if each.source]
        assert len(wrong) > 50
        assert len(believed) < share * len(wrong), "\n".join(believed)


def _other(each: Written, place: int) -> str:
    """Return the id of another record of the same kind."""
    row = each.known.world.rows.get(str(each.value), {})
    others = [
        row_id for row_id, other in each.known.world.rows.items() if other.keys() == row.keys() and other is not row
    ]
    return others[place * PRIME % len(others)] if others else ""


@pytest.mark.parametrize("agent", EIGHT)
def test_typical_mistake_is_caught_where_its_skill_is_needed(difficulty: Difficulty, agent: str) -> None:
    """In nine of ten cases at least; and no such agent passes more than two in five."""
    result = next(each for each in difficulty.results if each.agent == agent)

    assert result.caught >= 0.9 * difficulty.tags[result.skill] > 0
    assert result.passed <= 0.5 * difficulty.cases  # a small sample; the whole suite is in docs/calibration.md


def test_the_tables_show_what_each_weak_agent_passes(difficulty: Difficulty) -> None:
    lines = list(difficulty.lines())
    document = difficulty.to_dict()

    assert difficulty.cases == document["cases"] == 10
    assert len(lines) == 2 * len(difficulty.results) + 3
    assert lines[1].startswith("first-match ")
    assert "near-duplicates" in lines[1]
