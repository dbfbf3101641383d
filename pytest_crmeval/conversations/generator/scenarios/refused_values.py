"""Requests with values that the CRM refuses: unknown stages and statuses, amounts, percentages, dates."""

from collections.abc import Sequence
from typing import Any

from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.rows import STAGES, Row
from pytest_crmeval.conversations.generator.scenarios import recovery, unused_names
from pytest_crmeval.conversations.generator.scenarios.deals import pick_open
from pytest_crmeval.conversations.generator.scenarios.follow_ups import OpenRequest
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
"""Day and month of dates that don't exist in any year."""


def unheard_of_stage(story: Story) -> Intent | None:
    """Set a stage that does not exist."""
    return _unknown_word(story, pick_open(story), "deal", "stage", _STAGES)


def unheard_of_client_status(story: Story) -> Intent | None:
    """Set a status of a client that does not exist."""
    return _unknown_word(story, story.pick("Client"), "client", "status", _CLIENT)


def unheard_of_quote_status(story: Story) -> Intent | None:
    """Set a status of a quote that does not exist."""
    return _unknown_word(story, story.pick("Quote"), "quote", "status", _QUOTE)


def _unknown_word(story: Story, row: Row, slot: str, column: str, words: Sequence[str]) -> Intent:
    word = story.chance.one_of(words)
    return changed(story, row, slot, {column: word}, {column: word}, error=CHOICE, follow_up=recovery.with_a_choice)


def changed(
    story: Story,
    row: Row,
    slot: str,
    change: dict[str, Any],
    said: dict[str, Slot],
    **rest: Any,  # noqa: ANN401
) -> OpenRequest:
    """Return a request for a change that the CRM refuses."""
    entity = row.entity.lower()
    return OpenRequest(
        tool=f"modify_{entity}",
        args={f"{entity}_id": row.ref, **change},
        slots={slot: story.refer_to(row), **said},
        skills=REFUSED | {"update"},
        about=row,
        **rest,
    )


def unheard_of_contract_status(story: Story) -> Intent | None:
    """Create a contract with a status that does not exist."""
    client = story.pick("Client")
    value, status = figures.exact(figures.amount(story.chance)), story.chance.one_of(_CONTRACT)
    return OpenRequest(
        tool="create_contract",
        args={"client_id": client.ref, "value": value, "status": status},
        slots={"client": story.refer_to(client), "value": story.money(value), "status": status},
        error=CHOICE,
        skills=REFUSED | {"creation"},
        follow_up=recovery.with_a_choice,
    )


def _huge(story: Story) -> tuple[int, str]:
    words, amount = story.chance.one_of(_HUGE)
    return amount, recovery.millions(story, words, amount)


def too_large_deal(story: Story) -> Intent | None:
    """Set an amount of a deal that is above the limit."""
    deal = pick_open(story)
    amount, said = _huge(story)
    return changed(
        story, deal, "deal", {"amount": amount}, {"amount": said}, error=TOO_MUCH, follow_up=recovery.with_less
    )


def too_large_quote(story: Story) -> Intent | None:
    """Set an amount of a quote that is above the limit."""
    quote = story.pick("Quote")
    amount, said = _huge(story)
    return changed(
        story, quote, "quote", {"amount": amount}, {"amount": said}, error=TOO_MUCH, follow_up=recovery.with_less
    )


def too_large_new_deal(story: Story) -> Intent | None:
    """Open a deal with an amount above the limit."""
    client = story.pick("Client")
    name, stage = unused_names.next_deal(story, client), story.chance.one_of(STAGES)
    amount, said = _huge(story)
    return OpenRequest(
        tool="create_new_opportunity",
        args={"name": name, "client_id": client.ref, "amount": amount, "stage": stage},
        slots={"client": story.refer_to(client), "title": name, "amount": said, "stage": stage},
        error=TOO_MUCH,
        skills=REFUSED | {"creation"},
        follow_up=recovery.with_less,
    )


def worthless_deal(story: Story) -> Intent | None:
    """Set an amount of zero or less."""
    deal = pick_open(story)
    amount, said = story.chance.one_of(((0, "0"), (0, "zero"), (-500, "-500"), (-1000, "-1,000"), (-250, "minus 250")))
    return changed(
        story, deal, "deal", {"amount": amount}, {"amount": said}, error=TOO_LITTLE, follow_up=recovery.with_something
    )


def worthless_quote(story: Story) -> Intent | None:
    """Create a quote with an amount of zero."""
    deal = pick_open(story)
    return OpenRequest(
        tool="create_quote",
        args={"opportunity_id": deal.ref, "amount": 0, "status": "Draft"},
        slots={"deal": story.refer_to(deal), "amount": story.chance.one_of(("0", "zero"))},
        error=TOO_LITTLE,
        skills=REFUSED | {"creation"},
        follow_up=recovery.with_something,
    )


def certain_deal(story: Story) -> Intent | None:
    """Set a probability of 0 or 100 %."""
    deal = pick_open(story)
    value = story.chance.one_of((100, 100, 0))
    said: dict[str, Slot] = {"probability": figures.percent(story.chance, value)}
    return changed(story, deal, "deal", {"probability": value}, said, error=UNCERTAIN, follow_up=recovery.with_doubt)


def _no_day(story: Story) -> tuple[str, str]:
    (day, month), year = story.chance.one_of(_LACKING), story.now.year + 1
    name = days.MONTHS[month - 1]
    said = story.chance.one_of(
        (f"{day} {name} {year}", f"{name} {day}, {year}", f"the {days.ordinal(day)} of {name} {year}")
    )
    return f"{year}-{month:02}-{day:02}", said


def close_on_no_day(story: Story) -> Intent | None:
    """Set a close date that does not exist."""
    deal = pick_open(story)
    day, said = _no_day(story)
    return changed(story, deal, "deal", {"close_date": day}, {"day": said}, error=NO_DAY, follow_up=recovery.with_a_day)


def valid_until_no_day(story: Story) -> Intent | None:
    """Make a quote valid until a date that does not exist."""
    quote = story.pick("Quote")
    day, said = _no_day(story)
    return changed(
        story, quote, "quote", {"valid_until": day}, {"day": said}, error=NO_DAY, follow_up=recovery.with_a_day
    )


def close_in_the_past(story: Story) -> Intent | None:
    """Set a close date in the past."""
    deal = pick_open(story)
    day = days.past(story.chance, story.now.date())
    return changed(
        story,
        deal,
        "deal",
        {"close_date": day.iso},
        {"day": day.said},
        error=OVER,
        relative=True,
        follow_up=recovery.with_a_day,
    )


_DEAL, _QUOTES = ["modify_opportunity"], ["modify_quote"]
SCENARIOS = (
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
