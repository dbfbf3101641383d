"""How people speak of a record."""

from datetime import UTC, datetime

import pytest

from pytest_crmeval.conversations.generator.naming import Referent, possessive, refer_to
from pytest_crmeval.conversations.generator.rows import Row, World
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.story import Story

THROWS = 200


@pytest.fixture
def story() -> Story:
    """Return a story with two clients that look alike, two people who share a name, and a deal with two quotes."""
    world = World()
    for name in ("Freight", "Foods"):
        world.add_seeded("Client", name, {"name": f"Nordvik {name}", "industry": "Shipping"}, known_as="Nordvik")
    world.add_seeded("Client", "Lumen", {"name": "Lumen Fiber", "industry": "Software"}, known_as="Lumen")
    for first, title in (("Ada", "Buyer"), ("Ben", "Buyer"), ("Eve", "Chief Pilot")):
        columns = {"first_name": first, "last_name": "Okafor", "client_id": "Freight", "title": title}
        world.add_seeded("Contact", first, columns, feminine=first != "Ben")
    world.add_seeded(
        "Opportunity", "Doors", {"name": "Chill room doors", "client_id": "Lumen", "stage": "Proposal", "amount": 9}
    )
    world.add_seeded("Quote", "cheap", {"opportunity_id": "Doors", "amount": 100, "status": "Draft"})
    world.add_seeded("Quote", "dear", {"opportunity_id": "Doors", "amount": 120, "status": "Draft"})
    return Story(chance=SeededRandom(1), world=world, now=datetime(2026, 3, 12, tzinfo=UTC), currency="EUR")


def called(story: Story, ref: str) -> dict[str, Referent]:
    """Return every way in which a record is spoken of."""
    row: Row = story.world.row(ref)
    found = {}
    for throw in range(THROWS):
        story.chance = SeededRandom(throw)
        referent = refer_to(story, row)
        found[referent.object] = referent
    return found


def test_one_of_two_similar_clients_is_called_by_its_full_name(story: Story) -> None:
    assert ["Nordvik Foods"] == list(called(story, "Foods"))
    assert {"disambiguation"} == called(story, "Foods")["Nordvik Foods"].skills


def test_single_record_is_called_by_any_distinctive_part_of_its_name(story: Story) -> None:
    assert {"Lumen Fiber", "Lumen", "our Software client"} == set(called(story, "Lumen"))


def test_current_subject_is_called_by_the_right_pronoun(story: Story) -> None:
    """The right one: they, she, he, it."""
    for ref, pronoun in (("Lumen", "them"), ("Ada", "her"), ("Ben", "him"), ("Doors", "it"), ("dear", "it")):
        story.subject = story.world.row(ref)

        assert called(story, ref)[pronoun].known
        assert {"pronoun"} == called(story, ref)[pronoun].skills


def test_person_is_called_by_a_title_that_is_unique_at_the_client(story: Story) -> None:
    assert "Nordvik Freight's Chief Pilot" in called(story, "Eve")
    assert {"Ada Okafor", "Ada at Nordvik Freight"} == set(called(story, "Ada"))


def test_a_quote_is_the_bigger_or_the_smaller_one(story: Story) -> None:
    """It has no name of its own."""
    bigger = "the bigger of the two quotes on the Chill room doors deal"

    assert {bigger, "quote dear"} == set(called(story, "dear"))
    assert {"description"} == called(story, "dear")[bigger].skills
    story.subject = story.world.row("Doors")
    assert "the smaller of the two quotes on it" in called(story, "cheap")


def test_no_quote_is_the_bigger_of_two_that_cost_the_same(story: Story) -> None:
    story.world.row("dear").columns["amount"] = 100

    assert {"quote dear"} == set(called(story, "dear"))


def test_possessive_of_a_name_ends_with_s_or_apostrophe() -> None:
    assert ["Lumen's", "Nordvik Foods'"] == [possessive("Lumen"), possessive("Nordvik Foods")]
