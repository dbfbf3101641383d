"""What users ask for when they have been told that something can't be done."""

from typing import Any

from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.intents import Intent, Slot
from pytest_crmeval.conversations.generator.rows import STAGES
from pytest_crmeval.conversations.generator.scenarios import strangers
from pytest_crmeval.conversations.generator.scenarios.papers import note_text
from pytest_crmeval.conversations.generator.scenarios.unsettled import Unsettled, enact
from pytest_crmeval.conversations.generator.story import Story

LARGE = (
    *(("9.5 million", 9_500_000), ("8.75 million", 8_750_000), ("9 million", 9_000_000), ("10 million", 10_000_000)),
    *(("9.8 million", 9_800_000), ("9.25 million", 9_250_000), ("8.4 million", 8_400_000), ("7.5 million", 7_500_000)),
)
"""Amounts that are just allowed."""
_CHOICES = {
    "modify_opportunity": STAGES,
    "modify_client": ("Active", "Prospect", "Inactive"),
    "modify_quote": ("Draft", "Sent", "Approved", "Rejected"),
    "create_contract": ("Active", "Pending", "Expired"),
}


def _again(story: Story, last: Unsettled, changed: dict[str, Any], said: dict[str, Slot], phrase: str) -> Intent:
    """Make the call that was refused, with something else in it."""
    args = {**last.args, **changed}
    about = enact(story, last.tool, args, last.about, feminine=last.feminine)
    return Intent(tool=last.tool, args=args, slots=said, phrase=phrase, skills=frozenset({"recovery"}), about=about)


def millions(story: Story, words: str, amount: int) -> str:
    """Return a large amount as it is said: nobody counts millions in thousands."""
    sign, name = figures.CURRENCIES[story.currency]
    return story.chance.one_of((words, words, f"{words} {name}", f"{sign}{amount:,}", f"{amount:,}"))


def with_less(story: Story, last: Unsettled) -> Intent:
    """Take an amount that is just allowed."""
    words, amount = story.chance.one_of(LARGE)
    said = millions(story, words, amount)
    return _again(story, last, {"amount": amount}, {"amount": said}, "retry_amount")


def with_something(story: Story, last: Unsettled) -> Intent:
    """Take an amount in place of none."""
    known = last.about["amount"] if last.about else None
    amount = figures.exact(figures.near(story.chance, known) if known else figures.amount(story.chance))
    return _again(story, last, {"amount": amount}, {"amount": story.money(amount)}, "retry_amount")


def with_doubt(story: Story, last: Unsettled) -> Intent:
    """Be nearly sure instead of quite sure."""
    sure = bool(last.args["probability"])
    now = last.about["probability"] if last.about else None
    value = story.chance.one_of([each for each in ((99, 98, 95, 90) if sure else (1, 2, 5, 10)) if each != now])
    said: dict[str, Slot] = {"probability": figures.percent(story.chance, value)}
    return _again(story, last, {"probability": value}, said, "retry_probability")


def with_a_day(story: Story, last: Unsettled) -> Intent | None:
    """Take a day that there is, and that is still to come; next month might be the one after the impossible day."""
    column = "valid_until" if last.tool == "modify_quote" else "close_date"
    day = days.written_ahead(story.chance, story.now.date())
    if last.about is None or day.iso == last.about[column]:
        return None
    return _again(story, last, {column: day.iso}, {"day": day.said}, "retry_day")


def with_a_choice(story: Story, last: Unsettled) -> Intent:
    """Take a word that the CRM knows."""
    column = "stage" if last.tool == "modify_opportunity" else "status"
    now = last.about[column] if last.about else None
    value = story.chance.one_of([each for each in _CHOICES[last.tool] if each != now])
    return _again(story, last, {column: value}, {"choice": value}, "retry_choice")


def with_another_address(story: Story, last: Unsettled) -> Intent:
    """Take an address that is free."""
    name = last.about.full_name if last.about else last.args["name"]
    address = strangers.mailbox(story, name)
    return _again(story, last, {"email": address}, {"email": address}, "retry_email")


def with_the_right_address(story: Story, last: Unsettled) -> Intent:
    """Spell an address as it should have been."""
    address = last.given["email"]
    return _again(story, last, {"email": address}, {"email": address}, "retry_email")


def with_another_file(story: Story, last: Unsettled) -> Intent:
    """Take a file name that the CRM allows."""
    name = last.given["file_name"]
    return _again(story, last, {"file_name": name}, {"file": name}, "retry_file")


def as_a_note(story: Story, last: Unsettled) -> Intent | None:
    """Write it down on a deal that can't be changed, or open another one."""
    deal = last.about
    if deal is None:
        return None
    if story.chance.chance(0.3):
        return _as_a_new_deal(story, last)
    text = note_text(story, "Opportunity")
    args = {"entity_type": "Opportunity", "entity_id": deal.ref, "content": text}
    enact(story, "add_note", args, deal)
    skills = frozenset({"recovery", "note"})
    return Intent(tool="add_note", args=args, slots={"note": text}, phrase="retry_as_note", skills=skills, about=deal)


def _as_a_new_deal(story: Story, last: Unsettled) -> Intent | None:
    if last.about is None:
        return None
    client = story.world.client_of(last.about)
    name = strangers.next_deal(story, client)
    amount, stage = figures.exact(figures.amount(story.chance)), story.chance.one_of(STAGES)
    args = {"name": name, "client_id": client.ref, "amount": amount, "stage": stage}
    about = enact(story, "create_new_opportunity", args, None)
    slots: dict[str, Slot] = {"title": name, "amount": story.money(amount), "stage": stage}
    skills = frozenset({"recovery", "creation"})
    return Intent(
        tool="create_new_opportunity", args=args, slots=slots, phrase="retry_as_new_deal", skills=skills, about=about
    )


def on_what_it_belongs_to(story: Story, last: Unsettled) -> Intent | None:
    """Write a note on the record that a file is attached to."""
    if not last.rows:
        return None
    (owner,) = last.rows
    args = {"entity_type": owner.entity, "entity_id": owner.ref, "content": last.args["content"]}
    enact(story, "add_note", args, owner)
    slots: dict[str, Slot] = {"record": story.call(owner)}
    skills = frozenset({"recovery", "note"})
    return Intent(tool="add_note", args=args, slots=slots, phrase="retry_note", skills=skills, about=owner)
