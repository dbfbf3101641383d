"""The distribution of a set of conversations: turns, tools, tags, wordings, near-duplicates."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import msgspec

from pytest_crmeval.conversations.dataset.crm_schema import TOOLS
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.describe.outline import BEHAVIOURS, NAMED, WAYS, Outline, outline
from pytest_crmeval.conversations.describe.similarity import Signature
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm_calls import writes

SCHEMA = "crmeval.describe/1"
LEVELS = ("simple", "medium", "complex")
NO_SPLIT = "none"
ANY = "any"
Counts = Mapping[str, int]
Histogram = Mapping[int, int]
"""A size -> how often it occurs, in order of size."""
Progress = Callable[[int], None]


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """How often a tool is expected."""

    main: int = 0
    """As the first call of a turn."""
    further: int = 0
    """As a further call of a turn."""

    @property
    def total(self) -> int:
        """Both together."""
        return self.main + self.further


class Spread(msgspec.Struct, frozen=True, kw_only=True, rename={"least": "min", "most": "max"}):
    """How many rows of an entity conversations start with."""

    least: int
    mean: float
    most: int
    total: int

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Self:
        """Return the spread of some numbers of rows."""
        least, most = min(sizes, default=0), max(sizes, default=0)
        return cls(least=least, mean=_mean(sum(sizes), len(sizes)), most=most, total=sum(sizes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """When conversations take place."""

    first: datetime | None = None
    last: datetime | None = None
    days: int = 0
    """The number of different days."""
    unsaid: int = 0
    """Conversations without a time."""

    @classmethod
    def of(cls, times: Sequence[datetime | None]) -> Self:
        """Return the first and the last of some times, and the number of days."""
        given = [time for time in times if time]
        return cls(
            first=min(given, default=None),
            last=max(given, default=None),
            days=len({time.date() for time in given}),
            unsaid=len(times) - len(given),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """How many conversations are the same except for names and numbers."""

    shapes: int
    """The number of groups."""
    sizes: Histogram
    """Size of a group -> number of groups; conversations that are unique are groups of 1."""
    largest: Sequence[str]
    """The ids of the largest group."""

    @classmethod
    def of(cls, outlines: Sequence[Outline]) -> Self:
        """Return the groups of conversations with the same signature."""
        groups: dict[Signature, list[str]] = defaultdict(list)
        for each in outlines:
            groups[each.signature].append(each.id)
        sizes, largest = _histogram(map(len, groups.values())), max(groups.values(), key=len, default=[])
        return cls(shapes=len(groups), sizes=sizes, largest=largest)

    @property
    def most(self) -> int:
        """The size of the largest group."""
        return len(self.largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The distribution of a set of conversations."""

    conversations: int
    turns: int
    lengths: Histogram
    """Number of turns -> number of conversations."""
    complexity: Counts
    categories: Counts
    splits: Counts
    tools: Mapping[str, Calls]
    """Every tool, also those that are never called, and called tools that don't exist."""
    behaviours: Counts
    """Turns in which an agent must not simply carry out the request, by what is right instead, and in all."""
    tags: Counts
    wordings: Counts
    """Utterances without names and numbers, the most frequent first."""
    rows: Mapping[str, Spread]
    names: Counts
    """The number of different companies, people, deals and owners."""
    ways: Counts
    """Turns about an existing record, by how the user refers to it."""
    clock: Clock
    chains: Histogram
    """Number of segments -> number of chains."""
    likeness: Likeness

    @property
    def mean(self) -> float:
        """The mean number of turns of a conversation."""
        return _mean(self.turns, self.conversations)

    @property
    def calls(self) -> int:
        """The number of expected calls."""
        return sum(calls.total for calls in self.tools.values())

    @property
    def writes(self) -> int:
        """The number of expected calls that write."""
        return sum(calls.total for tool, calls in self.tools.items() if writes(tool))

    def to_dict(self, *, examples: int) -> JsonObject:
        """Return the distribution as JSON, with the most frequent wordings."""
        clock, likeness = self.clock, self.likeness
        document = {
            "conversations": self.conversations,
            "turns": self.turns,
            "turns_per_conversation": {"mean": self.mean, "counts": self.lengths},
            "complexity": self.complexity,
            "categories": self.categories,
            "splits": self.splits,
            "calls": {"total": self.calls, "reads": self.calls - self.writes, "writes": self.writes},
            "tools": self.tools,
            "behaviours": self.behaviours,
            "tags": self.tags,
            "wordings": {
                "different": len(self.wordings),
                "most_frequent": [
                    {"wording": said, "count": count} for said, count in list(self.wordings.items())[:examples]
                ],
            },
            "rows": self.rows,
            "names": self.names,
            "references": self.ways,
            "now": {
                "first": clock.first and clock.first.isoformat(),
                "last": clock.last and clock.last.isoformat(),
                "days": clock.days,
                "unsaid": clock.unsaid,
            },
            "chains": {"total": sum(self.chains.values()), "segments": self.chains},
            "alike": {
                "shapes": likeness.shapes,
                "groups": likeness.sizes,
                "most": likeness.most,
                "largest": likeness.largest,
            },
        }
        plain: JsonObject = msgspec.to_builtins(document, str_keys=True)
        return plain


def describe(records: Iterable[ConversationRecord], progress: Progress = lambda _: None) -> Description:
    """Return the distribution of some conversations, which are read one by one."""
    outlines = []
    for number, record in enumerate(records, start=1):
        outlines.append(outline(record))
        progress(number)
    main = Counter(tool for each in outlines for tool in each.main if tool)
    further = Counter(tool for each in outlines for tool in each.further)
    behaviours = [turn for each in outlines for turn in each.behaviours]
    return Description(
        conversations=len(outlines),
        turns=sum(each.turns for each in outlines),
        lengths=_histogram(each.turns for each in outlines),
        complexity=_counts((each.complexity for each in outlines), LEVELS),
        categories=_frequency(each.category for each in outlines),
        splits=_counts((each.split or NO_SPLIT for each in outlines), ("train", "test", NO_SPLIT)),
        tools={
            name: Calls(main=main[name], further=further[name])
            for name in dict.fromkeys([*TOOLS, *sorted({*main, *further})])
        },
        behaviours={
            **_counts((one for turn in behaviours for one in turn), BEHAVIOURS),
            ANY: sum(map(bool, behaviours)),
        },
        tags=_frequency(tag for each in outlines for tag in each.tags),
        wordings=_frequency(said for each in outlines for said, *_ in each.signature),
        rows={entity: Spread.of([each.rows[entity] for each in outlines]) for entity in TABLES},
        names=_counts((kind for kind, _ in {name for each in outlines for name in each.names}), NAMED),
        ways=_counts((way for each in outlines for way in each.ways), WAYS),
        clock=Clock.of([each.now for each in outlines]),
        chains=_histogram(each.segments for each in outlines if each.segments),
        likeness=Likeness.of(outlines),
    )


def _counts(found: Iterable[str], known: Iterable[str]) -> Counts:
    """Return how often each value was found, also known values that were not."""
    return {**dict.fromkeys(known, 0), **Counter(found)}


def _frequency(found: Iterable[str]) -> Counts:
    """Return how often each value was found, the most frequent first, then alphabetically."""
    return dict(sorted(Counter(found).items(), key=lambda item: (-item[1], item[0])))


def _histogram(sizes: Iterable[int]) -> Histogram:
    return dict(sorted(Counter(sizes).items()))


def _mean(total: int, number: int) -> float:
    return round(total / number, 2) if number else 0.0
