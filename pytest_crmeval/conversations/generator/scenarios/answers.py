"""Answers to the question which record the user means."""

from pytest_crmeval.conversations.generator.intents import Intent
from pytest_crmeval.conversations.generator.naming import short_name
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.follow_ups import OpenRequest, apply_to_world
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.domain.state import TABLES

ANSWERED = frozenset({"disambiguation"})


def this_client(story: Story, last: OpenRequest) -> Intent:
    """Name the client, or the distinctive part of its name."""
    row = story.chance.one_of(last.rows)
    own = row.full_name.removeprefix(str(last.args["name"])).strip()
    others = [other.full_name.casefold() for other in last.rows if other is not row]
    choices = [row.full_name, row.full_name]
    if own and not any(own.casefold() in other for other in others):
        choices.append(f"the {own} one")
    return _meant(story, last, row, story.chance.one_of(choices))


def this_person(story: Story, last: OpenRequest) -> Intent:
    """Name the contact in full, or by client or title."""
    row = story.chance.one_of(last.rows)
    client = story.world.client_of(row)
    choices = [row.full_name, row.full_name]
    if not any(other["client_id"] == client.ref for other in last.rows if other is not row):
        choices.append(f"the one at {short_name(story, client)}")
    if row["title"] and not any(other["title"] == row["title"] for other in last.rows if other is not row):
        choices.append(f"the {row['title']}")
    return _meant(story, last, row, story.chance.one_of(choices))


def this_deal(story: Story, last: OpenRequest) -> Intent:
    """Name the deal, or its size among the others."""
    row = story.chance.one_of(last.rows)
    choices = [row.full_name, f"the {row.full_name} one", f"the {row.full_name} deal", *_by_size(row, last)]
    return _meant(story, last, row, story.chance.one_of(choices))


def this_quote(story: Story, last: OpenRequest) -> Intent:
    """Name the quote by its amount, size or status."""
    row = story.chance.one_of(last.rows)
    choices = [f"the one over {story.money(row['amount'])}", *_by_size(row, last)]
    if not any(other["status"] == row["status"] for other in last.rows if other is not row):
        choices.append(f"the {row['status'].lower()} one")
    return _meant(story, last, row, story.chance.one_of(choices))


def _by_size(row: Row, last: OpenRequest) -> list[str]:
    others = [other["amount"] for other in last.rows if other is not row]
    if len(others) > 1:
        return ["the biggest one"] * (row["amount"] > max(others)) + ["the smallest one"] * (
            row["amount"] < min(others)
        )
    return ["the bigger one"] * (row["amount"] > others[0]) + ["the smaller one"] * (row["amount"] < others[0])


def _meant(story: Story, last: OpenRequest, row: Row, choice: str) -> Intent:
    """Return the original request for the record that the user chose."""
    key = (
        {"entity_type": row.entity, "entity_id": row.ref}
        if last.wanted == "add_note"
        else {TABLES[row.entity][1]: row.ref}
    )
    args = {**key, **last.given}
    about = apply_to_world(story, last.wanted, args, row)
    return Intent(
        tool=last.wanted, args=args, slots={"choice": choice}, phrase="this_one", skills=ANSWERED, about=about
    )
