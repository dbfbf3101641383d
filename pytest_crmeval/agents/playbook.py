"""The playbook of an agent that learns: the result of all lessons of one key, in order."""

from collections.abc import Iterable, Sequence
from functools import reduce

from msgspec.structs import asdict, replace

from pytest_crmeval.domain.learning import EntryUse, Lesson, PlaybookEntry, Reward
from pytest_crmeval.domain.records import Record


class Rewards(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The sum of the rewards of some conversations."""

    count: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float | None:
        """The mean reward; None if there is none."""
        return self.total / self.count if self.count else None

    def after(self, reward: Reward | None) -> "Rewards":
        """Return the sum with ``reward`` added; unchanged if it is None."""
        if reward is None:
            return self
        return Rewards(count=self.count + 1, total=round(self.total + reward.score, 6))


class Practice(PlaybookEntry, frozen=True, kw_only=True, omit_defaults=False):
    """An entry, and its record since it was written."""

    since: int = 0
    """Conversations that were played with it."""
    fired: int = 0
    """Conversations with its cue."""
    hits: int = 0
    adoptions: int = 0
    failures: int = 0
    heard: Rewards = Rewards()
    """Rewards of conversations with its cue."""
    unheard: Rewards = Rewards()
    """Rewards of the other conversations."""

    @classmethod
    def of(cls, entry: PlaybookEntry) -> "Practice":
        """Return the record of a new entry, which has not been used yet."""
        return cls(**asdict(entry))

    @property
    def entry(self) -> PlaybookEntry:
        """The entry without its record."""
        return PlaybookEntry(**{name: getattr(self, name) for name in PlaybookEntry.__struct_fields__})

    @property
    def gain(self) -> float | None:
        """Mean reward with its cue minus mean reward without; None if one of them is missing."""
        heard, unheard = self.heard.mean, self.unheard.mean
        return None if heard is None or unheard is None else heard - unheard

    def after(self, lesson: Lesson) -> "Practice":
        """Return the record after one more conversation."""
        use = lesson.uses.get(self.id, EntryUse())
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


class Playbook(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The entries and notes after ``played`` conversations."""

    played: int = 0
    practices: tuple[Practice, ...] = ()
    student_notes: str = ""
    teacher_notes: str = ""

    @property
    def entries(self) -> Sequence[PlaybookEntry]:
        """All entries."""
        return tuple(practice.entry for practice in self.practices)

    def fired_by(self, utterance: str) -> Sequence[PlaybookEntry]:
        """Return the entries whose cue is in the user's words."""
        return tuple(entry for entry in self.entries if entry.fires(utterance))

    def practised(self, lesson: Lesson) -> "Playbook":
        """Return the playbook with one more conversation counted, but otherwise unchanged."""
        practices = tuple(practice.after(lesson) for practice in self.practices)
        return replace(self, played=self.played + 1, practices=practices)

    def after(self, lesson: Lesson) -> "Playbook":
        """Return the playbook after a lesson; unchanged if the lesson does not learn."""
        if not lesson.learns:
            return self
        counted = self.practised(lesson)
        kept = [practice for practice in counted.practices if practice.id not in lesson.dropped]
        return replace(
            counted,
            practices=(*kept, *(Practice.of(entry) for entry in lesson.added)),
            student_notes=self.student_notes if lesson.student_notes is None else lesson.student_notes,
            teacher_notes=self.teacher_notes if lesson.teacher_notes is None else lesson.teacher_notes,
        )


def learnt(lessons: Iterable[Lesson], start: Playbook | None = None) -> Playbook:
    """Return the playbook after all lessons, in the order of their positions."""
    ordered = sorted((lesson for lesson in lessons if lesson.learns), key=lambda lesson: lesson.position)
    return reduce(Playbook.after, ordered, start or Playbook())
