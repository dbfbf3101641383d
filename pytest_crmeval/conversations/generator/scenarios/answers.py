"""What users answer when they are asked which one they mean."""

from pytest_crmeval.conversations.generator.intents import Intent
from pytest_crmeval.conversations.generator.naming import short_name
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.unsettled import Unsettled, enact
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.domain.state import TABLES

ANSWERED = frozenset({"disambiguation"})


def this_client(story: Story, last: Unsettled) -> Intent:
    """Say which client is meant: by its name, or by the part that is its own."""
    row = story.chance.one_of(last.rows)
    own = row.full_name.removeprefix(str(last.args["name"])).strip()
    others = [other.full_name.casefold() for other in last.rows if other is not row]
    choices = [row.full_name, row.full_name]
    if own and not any(own.casefold() in other for other in others):
        choices.append(f"the {own} one")
    return _meant(story, last, row, story.chance.one_of(choices))


def this_person(story: Story, last: Unsettled) -> Intent:
    """Say who is meant: by the full name, or by where they work."""
    row = story.chance.one_of(last.rows)
    client = story.world.client_of(row)
    choices = [row.full_name, row.full_name]
    if not any(other["client_id"] == client.ref for other in last.rows if other is not row):
        choices.append(f"the one at {short_name(story, client)}")
    if row["title"] and not any(other["title"] == row["title"] for other in last.rows if other is not row):
        choices.append(f"the {row['title']}")
    return _meant(story, last, row, story.chance.one_of(choices))


def this_deal(story: Story, last: Unsettled) -> Intent:
    """Say which deal is meant: by its name, or by its size."""
    row = story.chance.one_of(last.rows)
    choices = [row.full_name, f"the {row.full_name} one", f"the {row.full_name} deal", *_by_size(row, last)]
    return _meant(story, last, row, story.chance.one_of(choices))


def this_quote(story: Story, last: Unsettled) -> Intent:
    """Say which quote is meant: by its amount, or by its status."""
    row = story.chance.one_of(last.rows)
    choices = [f"the one over {story.money(row['amount'])}", *_by_size(row, last)]
    if not any(other["status"] == row["status"] for other in last.rows if other is not row):
        choices.append(f"the {row['status'].lower()} one")
    return _meant(story, last, row, story.chance.one_of(choices))


def _by_size(row: Row, last: Unsettled) -> list[str]:
    others = [other["amount"] for other in last.rows if other is not row]
    if len(others) > 1:
        return ["the biggest one"] * (row["amount"] > max(others)) + ["the smallest one"] * (
            row["amount"] < min(others)
        )
    return ["the bigger one"] * (row["amount"] > others[0]) + ["the smaller one"] * (row["amount"] < others[0])


def _meant(story: Story, last: Unsettled, row: Row, choice: str) -> Intent:
    """Return what was wanted all along, of one record."""
    key = (
        {"entity_type": row.entity, "entity_id": row.ref}
        if last.wanted == "add_note"
        else {TABLES[row.entity][1]: row.ref}
    )
    args = {**key, **last.given}
    about = enact(story, last.wanted, args, row)
    return Intent(
        tool=last.wanted, args=args, slots={"choice": choice}, phrase="this_one", skills=ANSWERED, about=about
    )
