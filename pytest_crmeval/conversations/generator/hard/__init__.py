"""Generates hard conversations: several difficulties in each, in a large CRM, under the rules of a company.

The modules with requests create the records that they need (``scene.py``) and describe the turns (``request.py``), with
what agents that make a typical mistake would call. ``writer.py`` mixes the requests and puts them into words.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.generator.hard.lines import recorded
from pytest_crmeval.conversations.generator.hard.writer import CORE, HardWriter, Plan
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.wordings import Speech

_HELD_OUT = 4
"""Every fourth conversation is held out."""


def generate_hard(seed: int, count: int) -> Iterator[ConversationRecord]:
    """Yield ``count`` conversations; the same seed and count give the same conversations on every machine."""
    speech = Speech()
    for plan in plans(seed, count):
        chance = SeededRandom("hard", seed, plan.number)
        yield recorded(HardWriter(chance=chance, plan=plan, speech=speech).write())


def plans(seed: int, count: int) -> Sequence[Plan]:
    """Return what each conversation consists of; each main part is left out of three in ten."""
    chance = SeededRandom("hard plans", seed, count)
    one, two = list(combinations(CORE, 1)), list(combinations(CORE, 2))
    left_out = [(one[place // 2 % len(one)], two[place // 2 % len(two)])[place % 2] for place in range(count)]
    return [
        Plan(
            number=number,
            parts=[part for part in CORE if part not in without],
            split="train" if number % _HELD_OUT else "test",
        )
        for number, without in enumerate(chance.shuffled(left_out), start=1)
    ]
