"""The rows that a conversation starts with."""

from datetime import date
from itertools import combinations

import pytest

from pytest_crmeval.conversations.generator.rows import World
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.shapes import THEMES
from pytest_crmeval.conversations.generator.starting_rows import StartingRows

TODAY = date(2026, 3, 12)


def staged(throw: int, theme: str = "Client", size: int = 2) -> World:
    """Return a world."""
    return StartingRows(chance=SeededRandom(throw), today=TODAY, size=size, theme=theme).build()


WORLDS = [staged(throw) for throw in range(150)]


def test_no_two_clients_have_the_same_address() -> None:
    """The CRM would refuse to start."""
    for world in WORLDS:
        addresses = [row["email"] for row in world.of("Client")]

        assert len(addresses) == len(set(addresses))


def test_no_name_is_part_of_another() -> None:
    for world in WORLDS:
        for entity in ("Client", "Opportunity"):
            for one, other in combinations([row["name"].lower() for row in world.of(entity)], 2):
                assert one not in other
                assert other not in one


def test_many_worlds_have_similar_clients_and_people() -> None:
    """In about half of the worlds two clients, in many two people: so searching matters."""
    clients = [world for world in WORLDS if len({row.known_as for row in world.of("Client")}) < len(world.of("Client"))]
    people = [
        world for world in WORLDS if len({row["last_name"] for row in world.of("Contact")}) < len(world.of("Contact"))
    ]

    assert 50 < len(clients) < 110
    assert len(people) > 25


def test_open_deals_close_in_the_future() -> None:
    """Closed ones have closed."""
    for world in WORLDS:
        for deal in world.of("Opportunity"):
            if deal["close_date"]:
                assert deal.is_closed == (date.fromisoformat(deal["close_date"]) < TODAY)


def test_quotes_of_a_deal_differ_in_their_amounts() -> None:
    for world in WORLDS:
        for deal in world.of("Opportunity"):
            amounts = [quote["amount"] for quote in world.of("Quote", opportunity_id=deal.ref)]

            assert len(amounts) == len(set(amounts))


@pytest.mark.parametrize("theme", list(THEMES))
def test_world_has_rows_of_the_theme(theme: str) -> None:
    there = [bool(staged(throw, theme).of(theme)) for throw in range(40)]

    assert sum(there) > 28


def test_a_long_conversation_has_more_to_talk_of() -> None:
    small, large = (sum(len(staged(throw, size=size).rows) for throw in range(40)) for size in (1, 3))

    assert 1.5 * small < large


def test_seed_has_all_rows_of_the_world() -> None:
    world = WORLDS[0]

    assert {row.ref: row.columns for row in world.rows} == {
        ref: columns for rows in world.seed.values() for ref, columns in rows.items()
    }
