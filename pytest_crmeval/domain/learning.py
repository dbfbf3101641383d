"""What an agent that learns takes from one conversation: entries for its playbook, notes, a reward."""

from collections.abc import Mapping
from enum import StrEnum
from statistics import fmean, pstdev

from msgspec import field
from msgspec.structs import force_setattr

from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.records import Record, always

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
    """It was never approved, so it was not carried out."""


class PlaybookEntry(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One thing to remember: when it is about, what to do, and what for."""

    id: str
    cue: tuple[str, ...]
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


class RewardOpinion(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What one sample of the reward model thinks of a conversation."""

    score: float
    uncertainty: float
    reason: str = ""


class Reward(Record, frozen=True, kw_only=True):
    """How well a conversation went, as the agent's own side sees it."""

    samples: tuple[RewardOpinion, ...]
    arbiter: RewardOpinion | None = None
    """The model that was asked because the samples did not agree; its opinion counts."""
    written: float = field(name="score", default_factory=float)
    """The score as it is written; computed."""

    def __post_init__(self) -> None:
        """Compute the score for readers of the file."""
        force_setattr(self, "written", round(self.score, 6))

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


class EntryUse(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How an entry was used in one conversation, in turns."""

    hits: int = 0
    """In which its cue was heard."""
    adoptions: int = 0
    """Those of them in which its tool was called, and the CRM did it."""
    failures: int = 0
    """Those of them in which its tool was called, and the CRM refused."""


class Lesson(Record, frozen=True, kw_only=True):
    """How one conversation was played by an agent with a playbook, and what was learnt from it."""

    key: str
    """What is learnt under one key is one playbook."""
    learning: str = always("on")
    """``on``; ``frozen``: played with the playbook, which stays as it is; ``off``: played without."""
    mode: str = always("paired")
    student: str = always("")
    """Spec of the student's model: who has it, and nothing else, is the student alone."""
    held_out: bool = always(False)  # noqa: FBT003 (a default)
    """Whether the case is for measuring only."""
    position: int = always(0)
    """Which conversation of the stream it was, from 1; of one that is not learnt from, how many came before it."""
    entries: int = always(0)
    """How many the playbook had when it was played."""
    uses: Mapping[str, EntryUse] = {}
    """Entry -> its use; those whose cue was not heard are absent."""
    reviews: Mapping[str, int] = {}
    """What became of proposals -> how many."""
    guidance: tuple[str, ...] = ()
    """What the teacher said."""
    reward: Reward | None = None
    added: tuple[PlaybookEntry, ...] = ()
    dropped: Mapping[str, str] = {}
    """Entry -> why it is not kept."""
    refused: tuple[str, ...] = ()
    """Why entries that were proposed have not been taken."""
    student_notes: str | None = None
    """New notes for the student; None: unchanged."""
    teacher_notes: str | None = None
    trouble: tuple[str, ...] = ()
    """What went wrong with reviewing, rewarding or learning, for people."""

    def __post_init__(self) -> None:
        """Keep what can be written: plain dicts, and texts that print."""
        for name in ("uses", "reviews", "dropped"):
            force_setattr(self, name, dict(getattr(self, name)))
        for name in ("guidance", "refused", "trouble"):
            force_setattr(self, name, tuple(map(printable, getattr(self, name))))

    @property
    def learns(self) -> bool:
        """Whether the playbook goes on with it."""
        return self.learning == "on" and not self.held_out

    @property
    def interventions(self) -> int:
        """How often the teacher did not let a proposal pass as it was."""
        return sum(count for name, count in self.reviews.items() if name != Review.APPROVED)


def words(text: str) -> str:
    """Return the words of a text, in lower case, with one space between them."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
