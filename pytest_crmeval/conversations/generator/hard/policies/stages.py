"""Rules about the stages of deals."""

from pytest_crmeval.conversations.generator.hard.policies.rule import POLICY, adapted
from pytest_crmeval.conversations.generator.hard.request import Block, Call, Request, modify, with_mistakes
from pytest_crmeval.conversations.generator.hard.scene import Scene

_REASONS = (
    "price was too high",
    "budget was cut",
    "chose a rival",
    "project was stopped",
    "no decision before year-end",
    "built it in-house",
    "merger froze all spending",
    "missing certification",
)


def probability_for_stage(scene: Scene) -> list[Block]:
    """Ask to move a deal to a stage for which its probability is too low."""
    clients = scene.twins()
    least = 5 * scene.chance.between(11, 15)
    deals = scene.same_deals(clients, stage="Proposal", probability=5 * scene.chance.between(4, 9))
    scene.rules.append(
        f"Stages: a deal in Negotiation has a probability of at least {least}. When a deal with a lower one moves "
        f"there, "
        f"set its probability to {least} as well."
    )
    other, right = ([modify(deal, stage="Negotiation", probability=least)] for deal in deals)
    slots = {"deal": deals[1]["name"], "client": clients[1]["name"]}
    return [[adapted("hard_to_negotiation", slots, right, [modify(deals[1], stage="Negotiation")], first_match=other)]]


def highest_probability(scene: Scene) -> list[Block]:
    """Ask for a higher probability than deals in a stage can have."""
    clients = scene.twins()
    stage = scene.chance.one_of(("Prospecting", "Qualification"))
    most = 5 * scene.chance.between(4, 7)
    asked = most + 5 * scene.chance.between(3, 8)
    deals = scene.same_deals(clients, stage=stage, probability=10)
    scene.rules.append(
        f"Forecast: a deal in {stage} has a probability of {most} at most. If a higher one is asked for, enter "
        f"{most}, and "
        "say so."
    )
    other, right = ([modify(deal, probability=most)] for deal in deals)
    slots = {"deal": deals[1]["name"], "client": clients[1]["name"], "probability": str(asked)}
    naive = [modify(deals[1], probability=asked)]
    return [[adapted("hard_probability", slots, right, naive, first_match=other)]]


def reason_for_loss(scene: Scene) -> list[Block]:
    """Close a deal as lost, without saying at first why."""
    clients = scene.twins()
    deals = scene.same_deals(clients)
    reason = scene.chance.one_of(_REASONS)
    scene.rules.append(
        "Lost deals: nobody closes a deal as lost without a reason. Ask for it, close the deal only then, and add a "
        "note "
        'to the deal with the text "Lost: " and the reason in the words of the user.'
    )

    def closed(at: int) -> list[Call]:
        note = {"entity_type": "Opportunity", "entity_id": deals[at].ref, "content": f"Lost: {reason}"}
        return [modify(deals[at], stage="Closed-Lost"), ("add_note", note)]

    names = {"deal": deals[1]["name"], "client": clients[1]["name"]}
    naive = [modify(deals[1], stage="Closed-Lost")]
    return [
        [
            Request(
                phrase="hard_lost",
                slots=names,
                asks=True,
                mistakes=with_mistakes(ignores_policy=naive, never_asks=naive),
                skills=POLICY | {"reacting-user"},
            ),
            Request(
                phrase="hard_reason",
                slots={"reason": reason},
                calls=closed(1),
                if_written="hard_acted",
                if_not_asked="hard_silent",
                mistakes=with_mistakes(first_match=closed(0)),
            ),
        ]
    ]


def follow_up_date(scene: Scene) -> list[Block]:
    """Ask to move a deal to Proposal, which needs a close date."""
    clients = scene.twins()
    days = 10 * scene.chance.between(3, 9)
    deals = scene.same_deals(clients, stage="Qualification", close_date=None)
    day = scene.day(days, days)
    scene.rules.append(
        f"Close dates: every deal in Proposal has one. When a deal without a close date moves to Proposal, set it to "
        f"{days} days from today as well."
    )
    other, right = ([modify(deal, stage="Proposal", close_date=day)] for deal in deals)
    slots = {"deal": deals[1]["name"], "client": clients[1]["name"]}
    naive = [modify(deals[1], stage="Proposal")]
    return [[adapted("hard_to_proposal", slots, right, naive, first_match=other)]]
