"""What the talk is of."""

from datetime import UTC, datetime

import pytest

from pytest_crmeval.conversations.generator.intents import DoesNotFitError, Intent
from pytest_crmeval.conversations.generator.rows import World
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.story import STAYS, Story


@pytest.fixture
def story() -> Story:
    """Return a story with two clients, a deal of each, and a quote."""
    world = World()
    for name in ("Lumen", "Nordvik"):
        world.add_seeded("Client", name, {"name": name})
        world.add_seeded("Opportunity", f"{name} deal", {"name": f"{name} doors", "client_id": name, "amount": 7})
    world.add_seeded("Quote", "quote", {"opportunity_id": "Lumen deal", "amount": 7})
    return Story(chance=SeededRandom(1), world=world, now=datetime(2026, 3, 12, tzinfo=UTC), currency="EUR")


def about(story: Story, ref: str) -> Intent:
    """Return a intent after which a pronoun means a record."""
    return Intent(tool="client_search", args={}, slots={}, about=story.world.row(ref))


def test_after_a_quote_the_talk_is_of_its_deal_and_client_too(story: Story) -> None:
    story.next_turn(about(story, "quote"))

    assert "quote" == (story.subject and story.subject.ref)
    assert {"Quote": "quote", "Opportunity": "Lumen deal", "Client": "Lumen"} == {
        entity: row.ref for entity, row in story.focus.items()
    }
    assert 2 == story.number


def test_turns_stay_with_the_current_subject(story: Story) -> None:
    """Mostly."""
    story.next_turn(about(story, "Lumen"))
    picked = [row.ref for _ in range(400) if (row := story.pick("Opportunity"))]

    assert STAYS < picked.count("Lumen deal") / len(picked) < 1


def test_only_values_not_seen_before_are_asked_for(story: Story) -> None:
    """An agent would remember the rest."""
    story.next_turn(about(story, "Lumen deal"))

    assert {"Nordvik deal"} == {row.ref for _ in range(50) if (row := story.pick_unseen("Opportunity"))}
    story.next_turn(about(story, "Nordvik deal"))
    with pytest.raises(DoesNotFitError, match="no Opportunity fits"):
        story.pick_unseen("Opportunity")


def test_row_that_does_not_fit_is_not_picked(story: Story) -> None:
    """If nothing fits, nothing is."""
    assert story.pick_or_none("Opportunity", lambda deal: deal["amount"] > 7) is None
    with pytest.raises(DoesNotFitError, match="no Opportunity fits"):
        story.pick("Opportunity", lambda deal: deal["amount"] > 7)


def test_rows_shown_by_a_search_count_as_seen(story: Story) -> None:
    for row in story.world.of("Client"):
        row.known_as = "Nordvik"
    story.next_turn(about(story, "Lumen"))

    with pytest.raises(DoesNotFitError, match="no Client fits"):
        story.pick_unseen("Client")


def test_changes_of_a_story_can_be_undone(story: Story) -> None:
    """Rows that were made, changed or deleted, and what the talk was of."""
    undo = story.snapshot()
    story.world.row("Lumen").columns["name"] = "Other"
    story.world.remove(story.world.row("Nordvik deal"))
    story.world.create("Client", 1, {"name": "New"})
    story.focus_on(about(story, "Lumen"))
    undo()

    assert ["Lumen", "Nordvik"] == [row["name"] for row in story.world.of("Client")]
    assert 2 == len(story.world.of("Opportunity"))
    assert (None, {}, set()) == (story.subject, story.focus, story.seen)


def test_row_created_by_a_turn_is_referred_to_by_that_turn(story: Story) -> None:
    """It has another id each time."""
    row = story.world.create("Contact", 3, {"first_name": "Ada", "last_name": "Okafor", "client_id": "Lumen"})

    assert "{{turn_3.contact_id}}" == row.ref
    assert story.world.client_of(row).ref == "Lumen"
    assert "Contact" not in story.world.seed


def test_with_a_deal_go_its_quotes(story: Story) -> None:
    """As in the CRM; contracts stay, without it."""
    contract = story.world.add_seeded("Contract", "paper", {"client_id": "Lumen", "opportunity_id": "Lumen deal"})
    story.world.remove(story.world.row("Lumen deal"))

    assert [] == story.world.of("Quote")
    assert contract["opportunity_id"] is None
