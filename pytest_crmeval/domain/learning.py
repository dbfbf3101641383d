"""The lesson of one conversation for an agent that learns: playbook entries, notes and a reward."""

from collections.abc import Mapping
from enum import StrEnum
from statistics import fmean, pstdev

from msgspec import field
from msgspec.structs import force_setattr

from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.records import Record, always

REPLY = "reply"
"""In place of a tool: the entry is about the reply to the user."""


class Review(StrEnum):
    """The review of a proposal."""

    APPROVED = "approved"
    CORRECTED = "corrected"
    TAKEN_OVER = "taken over"
    UNREADABLE = "unreadable"
    """The teacher's answer could not be read twice, which does not approve the proposal."""
    HELD_BACK = "held back"
    """It was never approved, so it was not executed."""


class PlaybookEntry(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One rule of a playbook: when it applies, what to do, and its effect."""

    id: str
    cue: tuple[str, ...]
    """Words or phrases of a user; the entry applies if one of them is used."""
    action: str
    tool: str
    """The tool that the action uses, or REPLY."""
    effect: str
    scope: str
    born: int = 0
    """Number of the conversation after which it was written."""

    def fires(self, utterance: str) -> bool:
        """Whether the utterance contains one of the cues as whole words, ignoring case."""
        said = f" {words(utterance)} "
        return any(f" {words(phrase)} " in said for phrase in self.cue)


class RewardOpinion(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The opinion of one sample of the reward model on a conversation."""

    score: float
    uncertainty: float
    reason: str = ""


class Reward(Record, frozen=True, kw_only=True):
    """How well a conversation went, according to the agent's own reward model."""

    samples: tuple[RewardOpinion, ...]
    arbiter: RewardOpinion | None = None
    """The opinion of the arbiter, which was asked because the samples disagreed; it replaces them."""
    written: float = field(name="score", default_factory=float)
    """The computed score in the JSON form."""

    def __post_init__(self) -> None:
        """Compute the score for readers of the file."""
        force_setattr(self, "written", round(self.score, 6))

    @property
    def score(self) -> float:
        """The score of the arbiter, or the mean of the samples."""
        return self.arbiter.score if self.arbiter else fmean(sample.score for sample in self.samples)

    @property
    def spread(self) -> float:
        """The standard deviation of the samples."""
        return pstdev(sample.score for sample in self.samples)

    @property
    def reason(self) -> str:
        """The reason of the arbiter, or of the sample that is nearest to the mean."""
        nearest = min(self.samples, key=lambda sample: abs(sample.score - self.score))
        return (self.arbiter or nearest).reason


class EntryUse(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How an entry was used in one conversation; all counts are turns."""

    hits: int = 0
    """Turns with its cue."""
    adoptions: int = 0
    """Turns with its cue in which its tool was called successfully."""
    failures: int = 0
    """Turns with its cue in which its tool was called and the CRM refused."""


class Lesson(Record, frozen=True, kw_only=True):
    """How an agent with a playbook played one conversation, and how its playbook changes."""

    key: str
    """Lessons with the same key belong to one playbook."""
    learning: str = always("on")
    """``on``; ``frozen``: played with a playbook that does not change; ``off``: played without one."""
    mode: str = always("paired")
    student: str = always("")
    """Spec of the student's model; an agent with only this spec is the student alone."""
    held_out: bool = always(False)  # noqa: FBT003 (a default)
    """Whether the case is only measured, not learnt from."""
    position: int = always(0)
    """Its number in the stream, from 1; for a held-out conversation, the number of conversations before it."""
    entries: int = always(0)
    """Entries of the playbook when it was played."""
    uses: Mapping[str, EntryUse] = {}
    """Entry -> its use; entries whose cue did not occur are absent."""
    reviews: Mapping[str, int] = {}
    """Review -> number of proposals."""
    guidance: tuple[str, ...] = ()
    """Guidance of the teacher."""
    reward: Reward | None = None
    added: tuple[PlaybookEntry, ...] = ()
    dropped: Mapping[str, str] = {}
    """Entry -> why it was dropped."""
    refused: tuple[str, ...] = ()
    """Why proposed entries were refused."""
    student_notes: str | None = None
    """New notes for the student; None if unchanged."""
    teacher_notes: str | None = None
    trouble: tuple[str, ...] = ()
    """Problems with reviewing, rewarding or learning."""

    def __post_init__(self) -> None:
        """Convert values to what can be stored: plain dicts and printable texts."""
        for name in ("uses", "reviews", "dropped"):
            force_setattr(self, name, dict(getattr(self, name)))
        for name in ("guidance", "refused", "trouble"):
            force_setattr(self, name, tuple(map(printable, getattr(self, name))))

    @property
    def learns(self) -> bool:
        """Whether it changes the playbook."""
        return self.learning == "on" and not self.held_out

    @property
    def interventions(self) -> int:
        """Number of proposals that the teacher did not approve."""
        return sum(count for name, count in self.reviews.items() if name != Review.APPROVED)


def words(text: str) -> str:
    """Return the words of a text, in lower case, with one space between them."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
