"""Changes of several deals that have to be selected from more than a page, with percentages, rounding and a limit."""

from dataclasses import dataclass
from typing import Any

from pytest_crmeval.conversations.generator.figures import percent
from pytest_crmeval.conversations.generator.hard.request import Block, Call, Request, modify, with_mistakes
from pytest_crmeval.conversations.generator.hard.rounding import Rounding, any_rounding, changed_by
from pytest_crmeval.conversations.generator.hard.scene import PAGE, Scene
from pytest_crmeval.conversations.generator.rows import STAGES, Row

SKILLS = frozenset({"pages", "rounding", "dependent-steps"})


def change_many(scene: Scene) -> list[Block]:
    """Raise or lower some of the deals of a salesperson."""
    owner, stage = scene.owner(), scene.chance.one_of(STAGES)
    which, deals, ordered = _deals(scene, owner, stage)
    raises = scene.chance.chance(0.65)
    change = scene.chance.between(2, 9) * (1 if raises else -1)
    rounding = any_rounding(scene.chance)
    slots = {
        "owner": owner,
        "stage": stage,
        "which": which,
        "percent": percent(scene.chance, abs(change)),
        "rounding": rounding.said,
    }
    limit = _limit(deals, change, rounding) if raises and scene.chance.chance(0.5) else 0
    slots |= {"limit": scene.money(limit)} if limit else {}
    right, wrong = (_changes(deals, change, rounding, limit, wrongly=wrongly) for wrongly in (False, True))
    locked = scene.chance.chance(0.75)
    first_page = {deal.ref for deal in ordered[:PAGE]}
    search: Call = ("opportunity_search", {"owner": owner, "stage": stage})
    phrase = "hard_raise_many" if raises else "hard_lower_many"
    request = Request(
        phrase=f"{phrase}_limited" if limit else phrase,
        slots=slots,
        calls=right,
        mistakes=with_mistakes(
            one_page=[search, *(call for call in right if call[1]["opportunity_id"] in first_page)],
            rounds_wrongly=wrong,
        ),
        error="is editing it" if locked else "",
        trouble=[{"kind": "lock", "record": deals[0].ref, "by": scene.owner()}] if locked else [],
        skills=SKILLS | ({"trouble", "lock"} if locked else set()),
    )
    return [[request]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Criterion:
    """What selects some of the deals: in words, and as columns of those selected and of the others."""

    said: str
    selected: dict[str, Any]
    others: dict[str, Any]


def _criterion(scene: Scene, kind: str) -> _Criterion:
    if kind == "day":
        verb = scene.chance.one_of(("that close", "closing", "due to close"))
        said = f"{verb} before {scene.say_day(scene.day(50, 52))}"
        return _Criterion(
            said=said, selected={"close_date": scene.day(14, 45)}, others={"close_date": scene.day(56, 240)}
        )
    if kind == "probability":
        said = scene.chance.one_of(("with a probability of 65 or more", "at a probability of at least 65 percent"))
        return _Criterion(
            said=said,
            selected={"probability": 5 * scene.chance.between(13, 19)},
            others={"probability": 5 * scene.chance.between(2, 12)},
        )
    said = f"{scene.chance.one_of(('worth more than', 'of more than', 'above'))} {scene.money(150_000)}"
    return _Criterion(
        said=said, selected={"amount": scene.amount(156_000)}, others={"amount": scene.amount(high=140_000)}
    )


def _deals(scene: Scene, owner: str, stage: str) -> tuple[str, list[Row], list[Row]]:
    """Return in words which deals are meant, these deals, and all deals in the order of a search."""
    number = scene.chance.between(PAGE + 3, PAGE + 7)
    names = sorted(scene.deal_names(number))
    early = scene.chance.some(range(PAGE), scene.chance.between(2, 4))
    late = scene.chance.some(range(PAGE, number), scene.chance.between(1, 2))
    clients = [scene.client() for _ in range(6)]
    kind = scene.chance.one_of(("day", "probability", "amount"))
    which = _criterion(scene, kind).said
    ordered = []
    for place, name in enumerate(names):
        criterion = _criterion(scene, kind)
        columns = criterion.selected if place in {*early, *late} else criterion.others
        ordered.append(scene.deal(scene.chance.one_of(clients), name=name, owner=owner, stage=stage, **columns))
    return which, [ordered[place] for place in sorted([*early, *late])], ordered


def _limit(deals: list[Row], change: int, rounding: Rounding) -> int:
    """Return a limit that holds back the largest deal only; 0 if there is none."""
    largest = max(deal["amount"] for deal in deals)
    limit = (largest + rounding.of(changed_by(largest, change))) // 2 // 100 * 100
    return limit if limit > largest else 0


def _changes(deals: list[Row], change: int, rounding: Rounding, limit: int, *, wrongly: bool) -> list[Call]:
    rounded = rounding.wrongly if wrongly else rounding.of
    amounts = (rounded(changed_by(deal["amount"], change)) for deal in deals)
    return [modify(deal, amount=min(amount, limit or amount)) for deal, amount in zip(deals, amounts, strict=True)]
