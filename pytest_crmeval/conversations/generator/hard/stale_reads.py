"""Quotes that another user changes after the agent has read them."""

from pytest_crmeval.conversations.generator.figures import percent
from pytest_crmeval.conversations.generator.hard.request import HERE, Block, Call, Request, modify, with_mistakes
from pytest_crmeval.conversations.generator.hard.rounding import any_rounding, changed_by
from pytest_crmeval.conversations.generator.hard.scene import Scene
from pytest_crmeval.conversations.generator.rows import Row

STALE = frozenset({"stale-read", "trouble"})


def changed_meanwhile(scene: Scene) -> list[Block]:
    """Ask for two quotes; later change the first, and ask for the second again."""
    clients = scene.twins()
    client, colleague = clients[1], scene.owner()
    deals = scene.same_deals(clients)
    quotes = [scene.quote(deal) for deal in deals]
    second = scene.quote(scene.deal(client))
    names = {"client": client["name"], "colleague": colleague}
    other = scene.world.deal_of(second)["name"]
    both = {**names, "deal": deals[1]["name"], "other": other}
    first = Request(
        phrase="hard_two_drafts",
        slots=both,
        calls=[_search(quotes[1]), _search(second)],
        facts=[quotes[1]["amount"], second["amount"]],
    )
    changed = _changed(scene, quotes[1], quotes[0], {**names, "deal": deals[1]["name"]})
    again = Request(
        phrase="hard_draft_again",
        slots={**names, "deal": other},
        calls=[_search(second)],
        facts=[HERE % "amount"],
        trouble=[_change(second, scene.amount())],
        mistakes=with_mistakes(answers_from_memory=[]),
        skills=STALE,
    )
    later = [[changed], [again]]
    return [[first], *(later if scene.chance.chance(0.5) else later[::-1])]


def _changed(scene: Scene, quote: Row, twin: Row, names: dict[str, str]) -> Request:
    """Return the change of a quote that has another amount by now."""
    change = scene.chance.between(2, 8) * (1 if scene.chance.chance(0.6) else -1)
    rounding, now = any_rounding(scene.chance), scene.amount()

    def calls(row: Row, amount: int, *, wrongly: bool = False) -> list[Call]:
        exact = changed_by(amount, change)
        return [modify(row, amount=rounding.wrongly(exact) if wrongly else rounding.of(exact))]

    return Request(
        phrase="hard_raise_draft" if change > 0 else "hard_lower_draft",
        slots={**names, "percent": percent(scene.chance, abs(change)), "rounding": rounding.said},
        calls=calls(quote, now),
        trouble=[_change(quote, now)],
        mistakes=with_mistakes(
            skips_re_reading=calls(quote, quote["amount"]),
            rounds_wrongly=calls(quote, now, wrongly=True),
            first_match=calls(twin, twin["amount"]),
        ),
        skills=STALE | {"rounding"},
    )


def _search(quote: Row) -> Call:
    return "quote_search", {"opportunity_id": quote["opportunity_id"]}


def _change(quote: Row, amount: int) -> dict[str, object]:
    tool, arguments = modify(quote, amount=amount)
    return {"kind": "change", "tool": tool, "arguments": arguments}
