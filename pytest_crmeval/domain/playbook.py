"""The playbook of an agent that learns: what all lessons of one key come to, one after the other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Self

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.learning import Entry, Lesson, Reward, Use
from pytest_crmeval.domain.wire import text_of

_COUNTS = ("since", "fired", "hits", "adoptions", "failures")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewards:
    """Rewards of some conversations, added up."""

    count: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float | None:
        """The usual one; None if there was none."""
        return self.total / self.count if self.count else None

    def after(self, reward: Reward | None) -> "Rewards":
        """Return them with one more, if it is one."""
        if reward is None:
            return self
        return Rewards(count=self.count + 1, total=round(self.total + reward.score, 6))

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {"count": self.count, "total": self.total}


@dataclass(frozen=True, slots=True, kw_only=True)
class Practice:
    """An entry, and how it has done since it was written."""

    entry: Entry
    since: int = 0
    """Conversations that were played with it."""
    fired: int = 0
    """Those of them in which its cue was heard."""
    hits: int = 0
    adoptions: int = 0
    failures: int = 0
    heard: Rewards = field(default_factory=Rewards)
    """Of conversations in which its cue was heard."""
    unheard: Rewards = field(default_factory=Rewards)
    """Of the others."""

    @property
    def gain(self) -> float | None:
        """How much better conversations are rewarded where its cue was heard; None if nothing can be compared."""
        heard, unheard = self.heard.mean, self.unheard.mean
        return None if heard is None or unheard is None else heard - unheard

    def after(self, lesson: Lesson) -> "Practice":
        """Return it after one more conversation."""
        use = lesson.uses.get(self.entry.id, Use())
        return replace(
            self,
            since=self.since + 1,
            fired=self.fired + bool(use.hits),
            hits=self.hits + use.hits,
            adoptions=self.adoptions + use.adoptions,
            failures=self.failures + use.failures,
            heard=self.heard.after(lesson.reward if use.hits else None),
            unheard=self.unheard.after(None if use.hits else lesson.reward),
        )

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        counts = {name: getattr(self, name) for name in _COUNTS}
        return {**self.entry.to_dict(), **counts, "heard": self.heard.to_dict(), "unheard": self.unheard.to_dict()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return what ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        found: dict[str, Any] = {name: int(record[name]) for name in _COUNTS}
        found |= {name: Rewards(**record[name]) for name in ("heard", "unheard")}
        return cls(entry=Entry.from_dict(record), **found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Playbook:
    """What is known after so many conversations."""

    played: int = 0
    practices: Sequence[Practice] = ()
    student_notes: str = ""
    teacher_notes: str = ""

    @property
    def entries(self) -> Sequence[Entry]:
        """What there is to remember."""
        return tuple(practice.entry for practice in self.practices)

    def fired_by(self, utterance: str) -> Sequence[Entry]:
        """Return what a user's words call to mind."""
        return tuple(entry for entry in self.entries if entry.fires(utterance))

    def practised(self, lesson: Lesson) -> "Playbook":
        """Return it with one more conversation counted, and nothing else changed."""
        practices = tuple(practice.after(lesson) for practice in self.practices)
        return replace(self, played=self.played + 1, practices=practices)

    def after(self, lesson: Lesson) -> "Playbook":
        """Return it after a lesson; one that is not learnt from changes nothing."""
        if not lesson.learns:
            return self
        counted = self.practised(lesson)
        kept = [practice for practice in counted.practices if practice.entry.id not in lesson.dropped]
        return replace(
            counted,
            practices=(*kept, *(Practice(entry=entry) for entry in lesson.added)),
            student_notes=self.student_notes if lesson.student_notes is None else lesson.student_notes,
            teacher_notes=self.teacher_notes if lesson.teacher_notes is None else lesson.teacher_notes,
        )

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {
            "played": self.played,
            "practices": [practice.to_dict() for practice in self.practices],
            "student_notes": self.student_notes,
            "teacher_notes": self.teacher_notes,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return what ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        return cls(
            played=int(record["played"]),
            practices=tuple(map(Practice.from_dict, record["practices"])),
            student_notes=text_of(record["student_notes"]),
            teacher_notes=text_of(record["teacher_notes"]),
        )


def learnt(lessons: Iterable[Lesson], start: Playbook | None = None) -> Playbook:
    """Return what lessons come to, in the order of their positions."""
    ordered = sorted((lesson for lesson in lessons if lesson.learns), key=lambda lesson: lesson.position)
    return reduce(Playbook.after, ordered, start or Playbook())
