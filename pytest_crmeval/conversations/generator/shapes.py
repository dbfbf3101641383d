"""The shapes of the conversations to be written: level, theme, number of turns and segments, split."""

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
"""The entity that a conversation is mainly about -> its share."""
_HELD_OUT = 4
"""Every fourth conversation of a level is held out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The shape of one conversation."""

    number: int
    level: str
    theme: str
    segments: Sequence[int]
    """Number of turns of each segment; a conversation that is not a chain has one segment."""
    split: str

    @property
    def size(self) -> int:
        """The size of its CRM, from 1 to 3."""
        return 1 + list(LEVELS).index(self.level)

    @property
    def is_chain(self) -> bool:
        """Whether it consists of several segments."""
        return len(self.segments) > 1


def shapes(seed: int, count: int) -> Iterator[Shape]:
    """Yield the shape of each conversation; the shares hold for any count."""
    chance = SeededRandom(seed, "shapes", count)
    kinds = zip(_distributed(chance, LEVELS, count), _distributed(chance, THEMES, count), strict=True)
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


def _distributed(chance: SeededRandom, shares: Mapping[str, float], count: int) -> list[str]:
    """Return ``count`` labels in random order, each as often as its share requires."""
    exact = {label: share * count for label, share in shares.items()}
    given = {label: int(number) for label, number in exact.items()}
    rest = sorted(exact, key=lambda label: given[label] - exact[label])
    for label in rest[: count - sum(given.values())]:
        given[label] += 1
    return chance.shuffled([label for label, number in given.items() for _ in range(number)])
