"""New deals, and changes of deals."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from pytest_crmeval.conversations.generator import days, figures, vocabulary
from pytest_crmeval.conversations.generator.days import Day
from pytest_crmeval.conversations.generator.intents import Fix, Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.rows import STAGES, Row
from pytest_crmeval.conversations.generator.story import Story

CLONE = " (Clone)"
COPIED = ("client_id", "stage", "amount", "close_date", "owner", "probability", "notes")
UPDATE, CREATION = frozenset({"update"}), frozenset({"creation"})
_ENDINGS = ("{}, phase two", "{} renewal", "{} extension", "{}, all sites", "{}, second wave", "{} relaunch")


def pick_open(story: Story, fits: Callable[[Row], bool] = lambda _: True) -> Row:
    """Return an open deal that fits; DoesNotFitError if there is none."""
    return story.pick("Opportunity", lambda deal: not deal.is_closed and fits(deal))


def change(  # noqa: PLR0913 (the fields of an intent)
    deal: Row,
    changes: Mapping[str, Any],
    slots: Mapping[str, Slot],
    *,
    skills: frozenset[str] = UPDATE,
    fixes: Sequence[Fix] = (),
    relative: bool = False,
) -> Intent:
    """Change a deal, and return the intent that asks for it."""
    deal.columns.update(changes)
    args = {"opportunity_id": deal.ref, **changes}
    return Intent(
        tool="modify_opportunity",
        args=args,
        slots=slots,
        skills=skills,
        about=deal,
        fixes=fixes,
        relative=relative,
    )


def _draw_stage(deal: Row, story: Story) -> tuple[str, str]:
    stage = story.chance.one_of([stage for stage in STAGES if stage != deal["stage"]])
    return stage, stage


def _draw_amount(deal: Row, story: Story) -> tuple[float, str]:
    near = [figures.exact(figures.near(story.chance, deal["amount"])) for _ in range(3)]
    amount = next((amount for amount in near if amount != deal["amount"]), deal["amount"] / 2)
    return amount, story.money(amount)


def _draw_probability(deal: Row, story: Story) -> tuple[int, str]:
    value = story.chance.one_of([percent for percent in range(5, 100, 5) if percent != deal["probability"]])
    return value, figures.percent(story.chance, value)


def _draw_day(deal: Row, story: Story) -> tuple[str, str]:
    wanted = [story.now.date() + timedelta(days=story.chance.between(10, 300)) for _ in range(2)]
    day = next(day for day in (*wanted, wanted[0] + timedelta(days=7)) if day.isoformat() != deal["close_date"])
    return day.isoformat(), days.written(story.chance, day)


def _draw_owner(deal: Row, story: Story) -> tuple[str, str]:
    owner = story.chance.one_of([owner for owner in vocabulary.owners() if owner != deal["owner"]])
    return owner, owner


_FIXES: Mapping[str, tuple[str, Callable[[Row, Story], tuple[Any, str]]]] = {
    "stage": ("the stage", _draw_stage),
    "amount": ("the amount", _draw_amount),
    "probability": ("the probability", _draw_probability),
    "close_date": ("the close date", _draw_day),
    "owner": ("the owner", _draw_owner),
}
"""Column -> the words for it, and how a new value is drawn."""


def fix(deal: Row, column: str, said: str) -> Fix:
    """Return how the user may correct a column in the next turn."""
    thing, draw = _FIXES[column]
    return Fix(tool="modify_opportunity", row=deal, column=column, thing=thing, said=said, draw=partial(draw, deal))


def _set(story: Story, column: str, *, closed: bool = False) -> Intent | None:
    """Set a column of an open deal, or of any deal if ``closed``; the slot has the name of the column."""
    deal = story.pick("Opportunity") if closed else pick_open(story)
    value, said = _FIXES[column][1](deal, story)
    return change(deal, {column: value}, {"deal": story.refer_to(deal), column: said}, fixes=[fix(deal, column, said)])


def from_today(day: Day) -> str:
    """Return a date in a form that fits after "to": two weeks from today, not in two weeks."""
    return f"{day.said.removeprefix('in ')} from today" if day.said.startswith("in ") else day.said


def _is_free(story: Story, name: str, but: Row | None = None) -> bool:
    """Whether the name of no other deal contains this name or is part of it."""
    others = [deal["name"].lower() for deal in story.world.of("Opportunity") if deal is not but]
    return not any(name.lower() in other or other in name.lower() for other in others)


def _free_names(story: Story, client: Row, but: Row | None = None) -> list[str]:
    """Return unused names of deals that fit a client."""
    fitting = [kind for kind in vocabulary.industries() if kind.name == (client.trade or client["industry"])]
    names = [name for kind in fitting or vocabulary.industries() for name in kind.deals]
    return [name for name in names if _is_free(story, name, but) and (but is None or name != but["name"])]


def open_deal(story: Story) -> Intent | None:
    """Open a deal with a client, perhaps with optional columns."""
    client = story.pick("Client", lambda client: client["status"] != "Inactive")
    names = _free_names(story, client)
    if not names:
        return None
    name, stage = story.chance.one_of(names), story.chance.one_of(STAGES)
    amount = figures.exact(figures.amount(story.chance))
    slots: dict[str, Slot] = {
        "client": story.refer_to(client),
        "name": name,
        "amount": story.money(amount),
        "stage": stage,
    }
    columns = {"name": name, "client_id": client.ref, "amount": amount, "stage": stage}
    more, said, relative = _details(story) if story.chance.chance(0.5) else ({}, "", False)
    deal = story.world.create("Opportunity", story.number, {**columns, **more})
    return Intent(
        tool="create_new_opportunity",
        args={**columns, **more},
        slots={**slots, "details": said} if said else slots,
        skills=CREATION,
        about=deal,
        relative=relative,
        fixes=[fix(deal, "amount", str(slots["amount"])), fix(deal, "stage", stage)],
    )


def _details(story: Story) -> tuple[dict[str, Any], str, bool]:
    """Return optional columns of a new deal, how they are said, and whether a date is relative to today."""
    chance, day = story.chance, story.day_ahead()
    percent, owner, notes = chance.between(1, 19) * 5, chance.one_of(vocabulary.owners()), vocabulary.deal_notes()
    said, note = figures.percent(chance, percent), chance.one_of(notes)
    known = {
        "probability": (percent, chance.one_of((f"a probability of {said}", f"probability {said}"))),
        "close_date": (day.iso, chance.one_of(("close date {}", "closing date {}")).format(from_today(day))),
        "owner": (owner, chance.one_of((f"owner {owner}", f"{owner} as the owner", f"{owner} as its owner"))),
        "notes": (note, chance.one_of((f'"{note}" in the notes field', f'"{note}" in its notes field'))),
    }
    chosen = chance.some([*list(known)[:3], *known], chance.between(1, 2))
    more = {name: value for name, (value, _) in known.items() if name in chosen}
    return more, " and ".join(known[name][1] for name in more), day.relative and "close_date" in more


def move_deal_on(story: Story) -> Intent | None:
    """Move an open deal to another stage, perhaps with a probability."""
    deal = pick_open(story)
    stage, said = _draw_stage(deal, story)
    changes: dict[str, Any] = {"stage": stage}
    slots: dict[str, Slot] = {"deal": story.refer_to(deal), "stage": said}
    if story.chance.chance(0.4):
        changes["probability"], slots["probability"] = _draw_probability(deal, story)
    return change(deal, changes, slots, fixes=[fix(deal, "stage", said)])


def _close(story: Story, stage: str) -> Intent | None:
    """Close a deal as won or lost."""
    deal = pick_open(story)
    return change(deal, {"stage": stage}, {"deal": story.refer_to(deal)})


def rename_deal(story: Story) -> Intent | None:
    """Rename a deal, perhaps by an addition to its name."""
    deal = story.pick("Opportunity")
    longer = [ending.format(deal["name"]) for ending in _ENDINGS if not deal["name"].endswith(CLONE)]
    longer = [name for name in longer if _is_free(story, name, deal)]
    client = story.world.client_of(deal)
    fresh = _free_names(story, client, deal) if client.trade or client["industry"] else []
    names = longer if longer and story.chance.chance(0.5) else fresh
    if not names:
        return None
    name = story.chance.one_of(names)
    return change(deal, {"name": name}, {"deal": story.refer_to(deal), "name": name})


def write_deal_notes(story: Story) -> Intent | None:
    """Fill the empty notes field of a deal."""
    deal = story.pick("Opportunity", lambda deal: not deal["notes"])
    notes = story.chance.one_of(vocabulary.deal_notes())
    return change(deal, {"notes": notes}, {"deal": story.refer_to(deal), "notes": notes}, skills=UPDATE | {"note"})


def clone_deal(story: Story) -> Intent | None:
    """Clone a deal; only once, and only if its close date is not past, which the CRM would refuse."""

    def fits(deal: Row) -> bool:
        current = not deal["close_date"] or deal["close_date"] >= story.now.date().isoformat()
        return (
            current
            and not deal["name"].endswith(CLONE)
            and not story.world.of("Opportunity", name=deal["name"] + CLONE)
        )

    deal = pick_open(story, fits)
    slots = {"deal": story.refer_to(deal)}
    columns = {name: deal[name] for name in COPIED if deal[name] is not None}
    clone = story.world.create("Opportunity", story.number, {"name": deal["name"] + CLONE, **columns})
    args = {"opportunity_id": deal.ref}
    return Intent(tool="clone_opportunity", args=args, slots=slots, skills=CREATION, about=clone, looked_at=[deal])


def delete_deal(story: Story) -> Intent | None:
    """Delete an open deal with its quotes, if no notes or documents would be orphaned."""

    def fits(deal: Row) -> bool:
        quotes = story.world.of("Quote", opportunity_id=deal.ref)
        return not any(map(story.world.has_papers, (deal, *quotes)))

    deal = pick_open(story, fits)
    slots = {"deal": story.refer_to(deal)}
    story.world.remove(deal)
    args = {"opportunity_id": deal.ref}
    return Intent(tool="delete_opportunity", args=args, slots=slots, skills=frozenset({"deletion"}))


change_scenario = partial(Scenario, entity="Opportunity", tools=["modify_opportunity"], joins=True)
"""A scenario that changes a deal."""

SCENARIOS = (
    Scenario(make=open_deal, entity="Opportunity", tools=["create_new_opportunity"], weight=3.0),
    Scenario(make=clone_deal, entity="Opportunity", tools=["clone_opportunity"], weight=1.0),
    Scenario(make=delete_deal, entity="Opportunity", tools=["delete_opportunity"], weight=0.8, joins=True),
    change_scenario(make=move_deal_on, weight=3.0),
    change_scenario(make=partial(_close, stage="Closed-Won"), wordings="win_deal", weight=1.2),
    change_scenario(make=partial(_close, stage="Closed-Lost"), wordings="lose_deal", weight=0.9),
    change_scenario(make=partial(_set, column="amount"), wordings="set_deal_amount", weight=1.6),
    change_scenario(make=partial(_set, column="probability"), wordings="set_deal_probability", weight=1.4),
    change_scenario(make=partial(_set, column="owner", closed=True), wordings="hand_over_deal", weight=1.4),
    change_scenario(make=rename_deal, weight=0.9),
    change_scenario(make=write_deal_notes, weight=0.8),
)
