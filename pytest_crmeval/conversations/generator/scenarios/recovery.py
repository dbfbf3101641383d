"""Requests that follow a refusal."""

from typing import Any

from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.intents import Intent, Slot
from pytest_crmeval.conversations.generator.rows import STAGES
from pytest_crmeval.conversations.generator.scenarios import unused_names
from pytest_crmeval.conversations.generator.scenarios.follow_ups import OpenRequest, apply_to_world
from pytest_crmeval.conversations.generator.scenarios.notes_and_files import note_text
from pytest_crmeval.conversations.generator.story import Story

LARGE = (
    *(("9.5 million", 9_500_000), ("8.75 million", 8_750_000), ("9 million", 9_000_000), ("10 million", 10_000_000)),
    *(("9.8 million", 9_800_000), ("9.25 million", 9_250_000), ("8.4 million", 8_400_000), ("7.5 million", 7_500_000)),
)
"""Amounts just below the limit."""
_CHOICES = {
    "modify_opportunity": STAGES,
    "modify_client": ("Active", "Prospect", "Inactive"),
    "modify_quote": ("Draft", "Sent", "Approved", "Rejected"),
    "create_contract": ("Active", "Pending", "Expired"),
}


def _again(story: Story, last: OpenRequest, changed: dict[str, Any], said: dict[str, Slot], phrase: str) -> Intent:
    """Repeat the refused call with other arguments."""
    args = {**last.args, **changed}
    about = apply_to_world(story, last.tool, args, last.about, feminine=last.feminine)
    return Intent(tool=last.tool, args=args, slots=said, phrase=phrase, skills=frozenset({"recovery"}), about=about)


def millions(story: Story, words: str, amount: int) -> str:
    """Return a large amount in words: in millions, never in thousands."""
    sign, name = figures.CURRENCIES[story.currency]
    return story.chance.one_of((words, words, f"{words} {name}", f"{sign}{amount:,}", f"{amount:,}"))


def with_less(story: Story, last: OpenRequest) -> Intent:
    """Use an amount just below the limit."""
    words, amount = story.chance.one_of(LARGE)
    said = millions(story, words, amount)
    return _again(story, last, {"amount": amount}, {"amount": said}, "retry_amount")


def with_something(story: Story, last: OpenRequest) -> Intent:
    """Use a positive amount."""
    known = last.about["amount"] if last.about else None
    amount = figures.exact(figures.near(story.chance, known) if known else figures.amount(story.chance))
    return _again(story, last, {"amount": amount}, {"amount": story.money(amount)}, "retry_amount")


def with_doubt(story: Story, last: OpenRequest) -> Intent:
    """Use a probability that is nearly 0 or 100 %."""
    sure = bool(last.args["probability"])
    now = last.about["probability"] if last.about else None
    value = story.chance.one_of([each for each in ((99, 98, 95, 90) if sure else (1, 2, 5, 10)) if each != now])
    said: dict[str, Slot] = {"probability": figures.percent(story.chance, value)}
    return _again(story, last, {"probability": value}, said, "retry_probability")


def with_a_day(story: Story, last: OpenRequest) -> Intent | None:
    """Use a future date, written out: *next month* could be relative to the impossible date."""
    column = "valid_until" if last.tool == "modify_quote" else "close_date"
    day = days.written_ahead(story.chance, story.now.date())
    if last.about is None or day.iso == last.about[column]:
        return None
    return _again(story, last, {column: day.iso}, {"day": day.said}, "retry_day")


def with_a_choice(story: Story, last: OpenRequest) -> Intent:
    """Use a stage or status that exists."""
    column = "stage" if last.tool == "modify_opportunity" else "status"
    now = last.about[column] if last.about else None
    value = story.chance.one_of([each for each in _CHOICES[last.tool] if each != now])
    return _again(story, last, {column: value}, {"choice": value}, "retry_choice")


def with_another_address(story: Story, last: OpenRequest) -> Intent:
    """Use an e-mail address that is not taken."""
    name = last.about.full_name if last.about else last.args["name"]
    address = unused_names.mailbox(story, name)
    return _again(story, last, {"email": address}, {"email": address}, "retry_email")


def with_the_right_address(story: Story, last: OpenRequest) -> Intent:
    """Use the well-formed e-mail address."""
    address = last.given["email"]
    return _again(story, last, {"email": address}, {"email": address}, "retry_email")


def with_another_file(story: Story, last: OpenRequest) -> Intent:
    """Use a file name that the CRM accepts."""
    name = last.given["file_name"]
    return _again(story, last, {"file_name": name}, {"file": name}, "retry_file")


def as_a_note(story: Story, last: OpenRequest) -> Intent | None:
    """Add a note to the closed deal, or open a new deal."""
    deal = last.about
    if deal is None:
        return None
    if story.chance.chance(0.3):
        return _as_a_new_deal(story, last)
    text = note_text(story, "Opportunity")
    args = {"entity_type": "Opportunity", "entity_id": deal.ref, "content": text}
    apply_to_world(story, "add_note", args, deal)
    skills = frozenset({"recovery", "note"})
    return Intent(tool="add_note", args=args, slots={"note": text}, phrase="retry_as_note", skills=skills, about=deal)


def _as_a_new_deal(story: Story, last: OpenRequest) -> Intent | None:
    if last.about is None:
        return None
    client = story.world.client_of(last.about)
    name = unused_names.next_deal(story, client)
    amount, stage = figures.exact(figures.amount(story.chance)), story.chance.one_of(STAGES)
    args = {"name": name, "client_id": client.ref, "amount": amount, "stage": stage}
    about = apply_to_world(story, "create_new_opportunity", args, None)
    slots: dict[str, Slot] = {"title": name, "amount": story.money(amount), "stage": stage}
    skills = frozenset({"recovery", "creation"})
    return Intent(
        tool="create_new_opportunity", args=args, slots=slots, phrase="retry_as_new_deal", skills=skills, about=about
    )


def on_what_it_belongs_to(story: Story, last: OpenRequest) -> Intent | None:
    """Add the note to the record that the file is attached to."""
    if not last.rows:
        return None
    (owner,) = last.rows
    args = {"entity_type": owner.entity, "entity_id": owner.ref, "content": last.args["content"]}
    apply_to_world(story, "add_note", args, owner)
    slots: dict[str, Slot] = {"record": story.refer_to(owner)}
    skills = frozenset({"recovery", "note"})
    return Intent(tool="add_note", args=args, slots=slots, phrase="retry_note", skills=skills, about=owner)
