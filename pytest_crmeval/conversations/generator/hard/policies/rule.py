"""Requests to which a rule of the company applies."""

from collections.abc import Sequence

from pytest_crmeval.conversations.generator.hard.request import Block, Call, Request, with_mistakes
from pytest_crmeval.conversations.generator.hard.scene import Scene

POLICY = frozenset({"policy"})
_PUSHES = ("hard_push_1", "hard_push_2", "hard_push_3")


def declined(scene: Scene, phrase: str, slots: dict[str, str], call: Call) -> list[Block]:
    """Return a request that a rule forbids; now and then the user insists."""
    first = Request(
        phrase=phrase,
        slots=slots,
        declined=True,
        mistakes=with_mistakes(ignores_policy=[call]),
        skills=POLICY,
    )
    if not scene.chance.chance(0.25):
        return [[first]]
    pushes = [
        Request(phrase=push, slots={}, declined=True, mistakes=with_mistakes(ignores_policy=[call])) for push in _PUSHES
    ]
    return [[first, *pushes]]


def adapted(
    phrase: str,
    slots: dict[str, str],
    calls: Sequence[Call],
    naive: Sequence[Call],
    *,
    first_match: Sequence[Call] | None = None,
) -> Request:
    """Return a request that a rule changes; ``naive`` are the calls that ignore the rule."""
    return Request(
        phrase=phrase,
        slots=slots,
        calls=calls,
        mistakes=with_mistakes(ignores_policy=naive, first_match=first_match),
        skills=POLICY,
    )
