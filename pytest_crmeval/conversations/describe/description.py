"""The distribution of a set of conversations: how many there are of what, and how much of it is alike."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pytest_crmeval.conversations.dataset.entities import TOOLS
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.describe.likeness import Signature
from pytest_crmeval.conversations.describe.sketches import BEHAVIOURS, NAMED, WAYS, Sketch, sketch
from pytest_crmeval.domain.calls import writes
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.state import TABLES

SCHEMA = "crmeval.describe/1"
LEVELS = ("simple", "medium", "complex")
NO_SPLIT = "none"
ANY = "any"
Counts = Mapping[str, int]
Histogram = Mapping[int, int]
"""A size -> how often it occurs, in order of size."""
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """How often a tool is expected."""

    main: int = 0
    """As what a turn is about."""
    further: int = 0
    """As what else the user wants in a turn."""

    @property
    def total(self) -> int:
        """How often in all."""
        return self.main + self.further


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How many rows of an entity conversations start with."""

    least: int
    mean: float
    most: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """When conversations take place."""

    first: datetime | None = None
    last: datetime | None = None
    days: int = 0
    """How many different ones."""
    unsaid: int = 0
    """Conversations that don't say when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """How many conversations are the same up to names and numbers."""

    shapes: int
    """How many different ones are left."""
    sizes: Histogram
    """Conversations that are alike -> how many such groups there are; 1 are those that have no like."""
    largest: Sequence[str]
    """The ids of the largest group."""

    @property
    def most(self) -> int:
        """How many conversations are alike, at most."""
        return len(self.largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The distribution of a set of conversations."""

    conversations: int
    turns: int
    lengths: Histogram
    """Turns -> conversations with so many."""
    complexity: Counts
    categories: Counts
    splits: Counts
    tools: Mapping[str, Calls]
    """Every tool, also those that never occur, and what is called though there is no such tool."""
    behaviours: Counts
    """Turns in which something else than to do as told is right, by what that is, and in all."""
    tags: Counts
    wordings: Counts
    """How things are said, up to names and numbers, the most frequent first."""
    rows: Mapping[str, Spread]
    names: Counts
    """Companies, people, deals and owners with different names."""
    ways: Counts
    """Turns about a record that is there, by how it is referred to."""
    clock: Clock
    chains: Histogram
    """Segments -> chains with so many."""
    likeness: Likeness

    @property
    def mean(self) -> float:
        """How many turns a conversation has on average."""
        return _mean(self.turns, self.conversations)

    @property
    def calls(self) -> int:
        """How many calls are expected in all."""
        return sum(calls.total for calls in self.tools.values())

    @property
    def writes(self) -> int:
        """How many of them change something."""
        return sum(calls.total for tool, calls in self.tools.items() if writes(tool))

    def to_dict(self, *, examples: int) -> JsonObject:
        """Return the distribution as JSON primitives, with the most frequent wordings."""
        return {
            "conversations": self.conversations,
            "turns": self.turns,
            "turns_per_conversation": {"mean": self.mean, "counts": _keyed(self.lengths)},
            "complexity": self.complexity,
            "categories": self.categories,
            "splits": self.splits,
            "calls": {"total": self.calls, "reads": self.calls - self.writes, "writes": self.writes},
            "tools": {name: {"main": calls.main, "further": calls.further} for name, calls in self.tools.items()},
            "behaviours": self.behaviours,
            "tags": self.tags,
            "wordings": {"different": len(self.wordings), "most_frequent": _frequent(self.wordings, examples)},
            "rows": {entity: _spread(spread) for entity, spread in self.rows.items()},
            "names": self.names,
            "references": self.ways,
            "now": _clock(self.clock),
            "chains": {"total": sum(self.chains.values()), "segments": _keyed(self.chains)},
            "alike": _alike(self.likeness),
        }


def describe(records: Iterable[ConversationRecord], progress: Progress = lambda _: None) -> Description:
    """Return the distribution of some conversations, which are looked at one by one."""
    sketches = []
    for number, record in enumerate(records, start=1):
        sketches.append(sketch(record))
        progress(number)
    return Description(
        conversations=len(sketches),
        turns=sum(each.turns for each in sketches),
        lengths=_histogram(each.turns for each in sketches),
        complexity=_counts((each.complexity for each in sketches), LEVELS),
        categories=_frequency(each.category for each in sketches),
        splits=_counts((each.split or NO_SPLIT for each in sketches), ("train", "test", NO_SPLIT)),
        tools=_tools(sketches),
        behaviours=_behaviours(sketches),
        tags=_frequency(tag for each in sketches for tag in each.tags),
        wordings=_frequency(said for each in sketches for said, *_ in each.signature),
        rows={entity: _spread_of([each.rows[entity] for each in sketches]) for entity in TABLES},
        names=_counts((kind for kind, _ in {name for each in sketches for name in each.names}), NAMED),
        ways=_counts((way for each in sketches for way in each.ways), WAYS),
        clock=_clock_of(sketches),
        chains=_histogram(each.segments for each in sketches if each.segments),
        likeness=_likeness(sketches),
    )


def _counts(found: Iterable[str], known: Iterable[str]) -> Counts:
    """Return how often each is found, also what is known and never found."""
    return {**dict.fromkeys(known, 0), **Counter(found)}


def _frequency(found: Iterable[str]) -> Counts:
    """Return how often each is found, the most frequent first, in order of the alphabet where they are even."""
    return dict(sorted(Counter(found).items(), key=lambda item: (-item[1], item[0])))


def _histogram(sizes: Iterable[int]) -> Histogram:
    return dict(sorted(Counter(sizes).items()))


def _tools(sketches: Sequence[Sketch]) -> Mapping[str, Calls]:
    main = Counter(tool for each in sketches for tool in each.main if tool)
    further = Counter(tool for each in sketches for tool in each.further)
    names = dict.fromkeys([*TOOLS, *sorted({*main, *further})])
    return {name: Calls(main=main[name], further=further[name]) for name in names}


def _behaviours(sketches: Sequence[Sketch]) -> Counts:
    turns = [behaviours for each in sketches for behaviours in each.behaviours]
    return {**_counts((one for turn in turns for one in turn), BEHAVIOURS), ANY: sum(map(bool, turns))}


def _spread_of(sizes: Sequence[int]) -> Spread:
    least, most = min(sizes, default=0), max(sizes, default=0)
    return Spread(least=least, mean=_mean(sum(sizes), len(sizes)), most=most, total=sum(sizes))


def _clock_of(sketches: Sequence[Sketch]) -> Clock:
    told = [each.now for each in sketches if each.now]
    unsaid = len(sketches) - len(told)
    if not told:
        return Clock(unsaid=unsaid)
    return Clock(first=min(told), last=max(told), days=len({now.date() for now in told}), unsaid=unsaid)


def _likeness(sketches: Sequence[Sketch]) -> Likeness:
    groups: dict[Signature, list[str]] = defaultdict(list)
    for each in sketches:
        groups[each.signature].append(each.id)
    return Likeness(
        shapes=len(groups),
        sizes=_histogram(map(len, groups.values())),
        largest=max(groups.values(), key=len, default=[]),
    )


def _mean(total: int, number: int) -> float:
    return round(total / number, 2) if number else 0.0


def _keyed(histogram: Histogram) -> dict[str, Json]:
    return {str(size): number for size, number in histogram.items()}


def _frequent(wordings: Counts, examples: int) -> list[Json]:
    return [{"wording": said, "count": count} for said, count in list(wordings.items())[:examples]]


def _spread(spread: Spread) -> JsonObject:
    return {"min": spread.least, "mean": spread.mean, "max": spread.most, "total": spread.total}


def _clock(clock: Clock) -> JsonObject:
    first, last = (moment.isoformat() if moment else None for moment in (clock.first, clock.last))
    return {"first": first, "last": last, "days": clock.days, "unsaid": clock.unsaid}


def _alike(likeness: Likeness) -> JsonObject:
    return {
        "shapes": likeness.shapes,
        "groups": _keyed(likeness.sizes),
        "most": likeness.most,
        "largest": list(likeness.largest),
    }
