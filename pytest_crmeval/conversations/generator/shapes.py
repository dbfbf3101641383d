"""How many conversations of which kind: long and short, about what, with how many segments."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crmeval.conversations.generator.seeded_random import SeededRandom

LEVELS: Mapping[str, float] = {"simple": 0.23, "medium": 0.52, "complex": 0.25}
"""Complexity -> its share."""
_TURNS: Mapping[str, Sequence[tuple[int, float]]] = {
    "simple": ((1, 0.25), (2, 0.35), (3, 0.4)),
    "medium": ((4, 0.35), (5, 0.35), (6, 0.3)),
    "complex": ((7, 0.35), (8, 0.3), (9, 0.2), (10, 0.15)),
}
_SEGMENT = ((2, 0.5), (3, 0.4), (4, 0.1))
_SEGMENTS = ((3, 0.5), (4, 0.3), (5, 0.2))
CHAINS = 0.2
"""Share of the complex conversations that are chains."""
THEMES: Mapping[str, float] = {
    "Client": 0.15,
    "Contact": 0.14,
    "Opportunity": 0.23,
    "Quote": 0.18,
    "Contract": 0.1,
    "Document": 0.06,
    "Note": 0.08,
    "Company": 0.06,
}
"""What conversations are about most, and how often."""
_HELD_OUT = 4
"""Every fourth conversation of a level is held out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What one conversation is to be like."""

    number: int
    level: str
    theme: str
    segments: Sequence[int]
    """Turns of each segment; a conversation that is no chain is a single one."""
    split: str

    @property
    def size(self) -> int:
        """How much there is in its CRM, from 1 to 3."""
        return 1 + list(LEVELS).index(self.level)

    @property
    def is_chain(self) -> bool:
        """Whether it is made of several conversations."""
        return len(self.segments) > 1


def shapes(seed: int, count: int) -> Iterator[Shape]:
    """Yield what each conversation is to be like; the shares hold for any number of them."""
    chance = SeededRandom(seed, "shapes", count)
    kinds = zip(_dealt(chance, LEVELS, count), _dealt(chance, THEMES, count), strict=True)
    met: Counter[str] = Counter()
    for number, (level, theme) in enumerate(kinds, start=1):
        met[level] += 1
        yield Shape(
            number=number,
            level=level,
            theme=theme,
            segments=_segments(chance, level),
            split="train" if met[level] % _HELD_OUT else "test",
        )


def _segments(chance: SeededRandom, level: str) -> Sequence[int]:
    if level == "complex" and chance.chance(CHAINS):
        *others, last = [chance.weighted(_SEGMENT) for _ in range(chance.weighted(_SEGMENTS))]
        return [*others, max(last, _TURNS[level][0][0] - sum(others))]
    return [chance.weighted(_TURNS[level])]


def _dealt(chance: SeededRandom, shares: Mapping[str, float], count: int) -> list[str]:
    """Return so many labels, each as often as its share says, in any order."""
    exact = {label: share * count for label, share in shares.items()}
    given = {label: int(number) for label, number in exact.items()}
    rest = sorted(exact, key=lambda label: given[label] - exact[label])
    for label in rest[: count - sum(given.values())]:
        given[label] += 1
    return chance.shuffled([label for label, number in given.items() for _ in range(number)])
