"""What an agent that learns takes from one conversation: entries for its playbook, notes, a reward."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import fmean, pstdev
from typing import Any, Self

from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.wire import text_of

REPLY = "reply"
"""In place of a tool: what an entry says is about the words to the user."""


class Review(StrEnum):
    """What became of a proposal."""

    APPROVED = "approved"
    CORRECTED = "corrected"
    TAKEN_OVER = "taken over"
    UNREADABLE = "unreadable"
    """The teacher's answer could not be read, twice: that approves nothing."""
    HELD_BACK = "held back"
    """Nobody has approved it to the end, so it was not carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing to remember: when it is about, what to do, and what for."""

    id: str
    cue: Sequence[str]
    """Words of a user; any of them calls the entry to mind."""
    action: str
    tool: str
    """The tool that the action is about, or REPLY."""
    effect: str
    scope: str
    born: int = 0
    """After which conversation it was written."""

    def fires(self, utterance: str) -> bool:
        """Whether what a user says calls it to mind: whole words, whatever their case."""
        said = f" {words(utterance)} "
        return any(f" {words(phrase)} " in said for phrase in self.cue)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {**{name: getattr(self, name) for name in self.__slots__}, "cue": list(self.cue)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the entry that ``to_dict`` wrote; KeyError or TypeError if it did not."""
        texts = {name: text_of(record[name]) for name in ("id", "action", "tool", "effect", "scope")}
        return cls(cue=tuple(map(text_of, record["cue"])), born=int(record["born"]), **texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What one sample of the reward model thinks of a conversation."""

    score: float
    uncertainty: float
    reason: str = ""

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the opinion that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        score, uncertainty = float(record["score"]), float(record["uncertainty"])
        return cls(score=score, uncertainty=uncertainty, reason=text_of(record["reason"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """How well a conversation went, as the agent's own side sees it."""

    samples: Sequence[Opinion]
    arbiter: Opinion | None = None
    """Who was asked because the samples did not agree; his word counts."""

    @property
    def score(self) -> float:
        """The arbiter's, or the mean of the samples."""
        return self.arbiter.score if self.arbiter else fmean(sample.score for sample in self.samples)

    @property
    def spread(self) -> float:
        """The standard deviation of the samples."""
        return pstdev(sample.score for sample in self.samples)

    @property
    def reason(self) -> str:
        """The arbiter's, or that of the sample that is nearest to the mean."""
        nearest = min(self.samples, key=lambda sample: abs(sample.score - self.score))
        return (self.arbiter or nearest).reason

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {
            "score": round(self.score, 6),
            "samples": [sample.to_dict() for sample in self.samples],
            **({"arbiter": self.arbiter.to_dict()} if self.arbiter else {}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the reward that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        arbiter = Opinion.from_dict(record["arbiter"]) if "arbiter" in record else None
        return cls(samples=tuple(map(Opinion.from_dict, record["samples"])), arbiter=arbiter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How an entry was used in one conversation, in turns."""

    hits: int = 0
    """In which its cue was heard."""
    adoptions: int = 0
    """Those of them in which its tool was called, and the CRM did it."""
    failures: int = 0
    """Those of them in which its tool was called, and the CRM refused."""

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """How one conversation was played by an agent with a playbook, and what was learnt from it."""

    key: str
    """What is learnt under one key is one playbook."""
    learning: str = "on"
    """``on``; ``frozen``: played with the playbook, which stays as it is; ``off``: played without."""
    mode: str = "paired"
    student: str = ""
    """Spec of the student's model: who has it, and nothing else, is the student alone."""
    held_out: bool = False
    """Whether the case is for measuring only."""
    position: int = 0
    """Which conversation of the stream it was, from 1; of one that is not learnt from, how many came before it."""
    entries: int = 0
    """How many the playbook had when it was played."""
    uses: Mapping[str, Use] = field(default_factory=dict)
    """Entry -> its use; those whose cue was not heard are absent."""
    reviews: Mapping[str, int] = field(default_factory=dict)
    """What became of proposals -> how many."""
    guidance: Sequence[str] = ()
    """What the teacher said."""
    reward: Reward | None = None
    added: Sequence[Entry] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    """Entry -> why it is not kept."""
    refused: Sequence[str] = ()
    """Why entries that were proposed have not been taken."""
    student_notes: str | None = None
    """What the student is told from now on; None: as before."""
    teacher_notes: str | None = None
    trouble: Sequence[str] = ()
    """What went wrong with reviewing, rewarding or learning, for people."""

    @property
    def learns(self) -> bool:
        """Whether the playbook goes on with it."""
        return self.learning == "on" and not self.held_out

    @property
    def interventions(self) -> int:
        """How often the teacher did not let a proposal pass as it was."""
        return sum(count for name, count in self.reviews.items() if name != Review.APPROVED)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; what there is nothing of is absent."""
        found: dict[str, Any] = {
            "uses": {name: use.to_dict() for name, use in self.uses.items()},
            "reviews": {str(name): count for name, count in self.reviews.items()},  # xdist takes no enum
            "reward": self.reward.to_dict() if self.reward else None,
            "added": [entry.to_dict() for entry in self.added],
            "dropped": dict(self.dropped),
            **{name: list(map(printable, getattr(self, name))) for name in ("guidance", "refused", "trouble")},
        }
        notes = {"student_notes": self.student_notes, "teacher_notes": self.teacher_notes}
        return {
            **{
                name: getattr(self, name)
                for name in ("key", "learning", "mode", "student", "held_out", "position", "entries")
            },
            **{name: value for name, value in found.items() if value},
            **{name: text for name, text in notes.items() if text is not None},
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the lesson that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        texts = ("guidance", "refused", "trouble")
        found: dict[str, Any] = {name: text_of(record[name]) for name in ("key", "learning", "mode", "student")}
        found |= {name: int(record[name]) for name in ("position", "entries")}
        found |= {name: tuple(map(text_of, record.get(name, ()))) for name in texts}
        return cls(
            **found,
            held_out=bool(record["held_out"]),
            uses={name: Use(**use) for name, use in record.get("uses", {}).items()},
            reviews={str(name): int(count) for name, count in record.get("reviews", {}).items()},
            reward=Reward.from_dict(record["reward"]) if "reward" in record else None,
            added=tuple(map(Entry.from_dict, record.get("added", ()))),
            dropped={str(name): text_of(why) for name, why in record.get("dropped", {}).items()},
            student_notes=record.get("student_notes"),
            teacher_notes=record.get("teacher_notes"),
        )


def words(text: str) -> str:
    """Return the words of a text, in lower case, with one space between them."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
