"""What users ask for, and the rules of the CRM say no: words, amounts and days that can't be."""

from collections.abc import Sequence
from typing import Any

from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.rows import STAGES, Row
from pytest_crmeval.conversations.generator.scenarios import recovery, strangers
from pytest_crmeval.conversations.generator.scenarios.unsettled import Unsettled
from pytest_crmeval.conversations.generator.story import Story

CHOICE = "must be one of"
TOO_MUCH = "must not exceed 10,000,000"
TOO_LITTLE = "greater than zero"
UNCERTAIN = "between 1 and 99"
NO_DAY = "valid ISO-8601 date"
OVER = "today or in the future"
REFUSED = frozenset({"refusal"})
_STAGES = ("On hold", "Discovery", "Legal review", "Pilot phase", "Paused", "Verbal agreement", "Demo", "Parked")
_CLIENT = ("Archived", "VIP", "Dormant", "Blacklisted", "On watch", "Key account", "Churn risk")
_QUOTE = ("Expired", "Under review", "Paid", "Viewed", "Superseded", "On hold", "Delivered")
_CONTRACT = ("Signed", "Terminated", "Renewed", "Suspended", "In review", "Countersigned")
_HUGE = (
    *(("12 million", 12_000_000), ("10.5 million", 10_500_000), ("25 million", 25_000_000), ("15 million", 15_000_000)),
    *(("11 million", 11_000_000), ("13.5 million", 13_500_000), ("18 million", 18_000_000), ("30 million", 30_000_000)),
    *(
        ("10.8 million", 10_800_000),
        ("22 million", 22_000_000),
        ("14.2 million", 14_200_000),
        ("40 million", 40_000_000),
    ),
)
_LACKING = ((30, 2), (31, 4), (31, 6), (31, 9), (31, 11))
"""Day and month of days that no year has."""


def _is_open(deal: Row) -> bool:
    return not deal.is_closed


def unheard_of_stage(story: Story) -> Intent | None:
    """Want a deal in a stage that there is not."""
    deal = story.pick("Opportunity", _is_open)
    return _unheard_of(story, deal, "deal", "stage", _STAGES) if deal else None


def unheard_of_client_status(story: Story) -> Intent | None:
    """Want a client in a status that there is not."""
    client = story.pick("Client")
    return _unheard_of(story, client, "client", "status", _CLIENT) if client else None


def unheard_of_quote_status(story: Story) -> Intent | None:
    """Want a quote in a status that there is not."""
    quote = story.pick("Quote")
    return _unheard_of(story, quote, "quote", "status", _QUOTE) if quote else None


def _unheard_of(story: Story, row: Row, slot: str, column: str, words: Sequence[str]) -> Intent:
    word = story.chance.one_of(words)
    return changed(story, row, slot, {column: word}, {column: word}, error=CHOICE, settle=recovery.with_a_choice)


def changed(
    story: Story,
    row: Row,
    slot: str,
    change: dict[str, Any],
    said: dict[str, Slot],
    **rest: Any,  # noqa: ANN401
) -> Unsettled:
    """Return the wish for a change that can't be made."""
    entity = row.entity.lower()
    return Unsettled(
        tool=f"modify_{entity}",
        args={f"{entity}_id": row.ref, **change},
        slots={slot: story.call(row), **said},
        skills=REFUSED | {"update"},
        about=row,
        **rest,
    )


def unheard_of_contract_status(story: Story) -> Intent | None:
    """Want a new contract in a status that there is not."""
    client = story.pick("Client")
    if client is None:
        return None
    value, status = figures.exact(figures.amount(story.chance)), story.chance.one_of(_CONTRACT)
    return Unsettled(
        tool="create_contract",
        args={"client_id": client.ref, "value": value, "status": status},
        slots={"client": story.call(client), "value": story.money(value), "status": status},
        error=CHOICE,
        skills=REFUSED | {"creation"},
        settle=recovery.with_a_choice,
    )


def _huge(story: Story) -> tuple[int, str]:
    words, amount = story.chance.one_of(_HUGE)
    return amount, recovery.millions(story, words, amount)


def too_large_deal(story: Story) -> Intent | None:
    """Want a deal to be worth more than any may be."""
    deal = story.pick("Opportunity", _is_open)
    if deal is None:
        return None
    amount, said = _huge(story)
    return changed(story, deal, "deal", {"amount": amount}, {"amount": said}, error=TOO_MUCH, settle=recovery.with_less)


def too_large_quote(story: Story) -> Intent | None:
    """Want a quote over more than any may be."""
    quote = story.pick("Quote")
    if quote is None:
        return None
    amount, said = _huge(story)
    return changed(
        story, quote, "quote", {"amount": amount}, {"amount": said}, error=TOO_MUCH, settle=recovery.with_less
    )


def too_large_new_deal(story: Story) -> Intent | None:
    """Want to open a deal that is worth more than any may be."""
    client = story.pick("Client")
    if client is None:
        return None
    name, stage = strangers.next_deal(story, client), story.chance.one_of(STAGES)
    amount, said = _huge(story)
    return Unsettled(
        tool="create_new_opportunity",
        args={"name": name, "client_id": client.ref, "amount": amount, "stage": stage},
        slots={"client": story.call(client), "title": name, "amount": said, "stage": stage},
        error=TOO_MUCH,
        skills=REFUSED | {"creation"},
        settle=recovery.with_less,
    )


def worthless_deal(story: Story) -> Intent | None:
    """Want a deal to be worth nothing, or less."""
    deal = story.pick("Opportunity", _is_open)
    if deal is None:
        return None
    amount, said = story.chance.one_of(((0, "0"), (0, "zero"), (-500, "-500"), (-1000, "-1,000"), (-250, "minus 250")))
    return changed(
        story, deal, "deal", {"amount": amount}, {"amount": said}, error=TOO_LITTLE, settle=recovery.with_something
    )


def worthless_quote(story: Story) -> Intent | None:
    """Want a quote whose price is still to come."""
    deal = story.pick("Opportunity", _is_open)
    if deal is None:
        return None
    return Unsettled(
        tool="create_quote",
        args={"opportunity_id": deal.ref, "amount": 0, "status": "Draft"},
        slots={"deal": story.call(deal), "amount": story.chance.one_of(("0", "zero"))},
        error=TOO_LITTLE,
        skills=REFUSED | {"creation"},
        settle=recovery.with_something,
    )


def certain_deal(story: Story) -> Intent | None:
    """Want a deal to be certain, or hopeless."""
    deal = story.pick("Opportunity", _is_open)
    if deal is None:
        return None
    value = story.chance.one_of((100, 100, 0))
    said: dict[str, Slot] = {"probability": figures.percent(story.chance, value)}
    return changed(story, deal, "deal", {"probability": value}, said, error=UNCERTAIN, settle=recovery.with_doubt)


def _no_day(story: Story) -> tuple[str, str]:
    (day, month), year = story.chance.one_of(_LACKING), story.now.year + 1
    name = days.MONTHS[month - 1]
    said = story.chance.one_of(
        (f"{day} {name} {year}", f"{name} {day}, {year}", f"the {days.ordinal(day)} of {name} {year}")
    )
    return f"{year}-{month:02}-{day:02}", said


def close_on_no_day(story: Story) -> Intent | None:
    """Want a deal to close on a day that no calendar has."""
    deal = story.pick("Opportunity", _is_open)
    if deal is None:
        return None
    day, said = _no_day(story)
    return changed(story, deal, "deal", {"close_date": day}, {"day": said}, error=NO_DAY, settle=recovery.with_a_day)


def valid_until_no_day(story: Story) -> Intent | None:
    """Want a quote to be valid until a day that no calendar has."""
    quote = story.pick("Quote")
    if quote is None:
        return None
    day, said = _no_day(story)
    return changed(story, quote, "quote", {"valid_until": day}, {"day": said}, error=NO_DAY, settle=recovery.with_a_day)


def close_in_the_past(story: Story) -> Intent | None:
    """Want an open deal to close on a day that is over."""
    deal = story.pick("Opportunity", _is_open)
    if deal is None:
        return None
    day = days.past(story.chance, story.now.date())
    return changed(
        story,
        deal,
        "deal",
        {"close_date": day.iso},
        {"day": day.said},
        error=OVER,
        relative=True,
        settle=recovery.with_a_day,
    )


_DEAL, _QUOTES = ["modify_opportunity"], ["modify_quote"]
MOVES = (
    Scenario(make=unheard_of_stage, entity="Opportunity", tools=_DEAL, trouble=True),
    Scenario(make=unheard_of_client_status, entity="Client", tools=["modify_client"], trouble=True),
    Scenario(make=unheard_of_quote_status, entity="Quote", tools=_QUOTES, trouble=True),
    Scenario(make=unheard_of_contract_status, entity="Contract", tools=["create_contract"], trouble=True),
    Scenario(make=too_large_deal, entity="Opportunity", tools=_DEAL, weight=0.8, trouble=True),
    Scenario(make=too_large_quote, entity="Quote", tools=_QUOTES, weight=0.6, trouble=True),
    Scenario(make=too_large_new_deal, entity="Opportunity", tools=["create_new_opportunity"], weight=0.6, trouble=True),
    Scenario(make=worthless_deal, entity="Opportunity", tools=_DEAL, weight=0.5, trouble=True),
    Scenario(make=worthless_quote, entity="Quote", tools=["create_quote"], weight=0.6, trouble=True),
    Scenario(make=certain_deal, entity="Opportunity", tools=_DEAL, weight=0.7, trouble=True),
    Scenario(make=close_on_no_day, entity="Opportunity", tools=_DEAL, weight=0.7, trouble=True),
    Scenario(make=valid_until_no_day, entity="Quote", tools=_QUOTES, weight=0.5, trouble=True),
    Scenario(make=close_in_the_past, entity="Opportunity", tools=_DEAL, weight=0.8, trouble=True),
)
