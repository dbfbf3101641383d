"""What has been written so far, so that nothing is missing at the end and nothing comes too often."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crmeval.conversations.dataset.knowledge import ID
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord
from pytest_crmeval.conversations.describe.likeness import Signature, signature
from pytest_crmeval.conversations.generator.intents import Scenario
from pytest_crmeval.domain.references import REFERENCE

ALIKE = 2
"""So many conversations may be the same up to names and numbers."""
LEAST = 0.024
"""Of each tool there are at least so many calls per conversation."""
RARE = 0.15
"""And of each move a share of that."""
SCARCE = 6.0
"""So much sooner a move is made that calls what has been called too seldom."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts over all conversations that were kept."""

    conversations: int = 0
    turns: int = 0
    troubled: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    moves: Counter[str] = field(default_factory=Counter)
    labels: dict[str, str] = field(default_factory=dict)
    """What was said -> what was to come of it: the same words must not mean something else elsewhere."""
    likes: dict[Signature, list[str]] = field(default_factory=dict)
    """What conversations are like -> the splits of those that are."""

    def keeps(self, record: ConversationRecord, moves: Sequence[Scenario], troubled: int) -> bool:
        """Take a conversation in, unless there are enough like it, or one like it on the other side of the split."""
        alike = self.likes.setdefault(signature(record), [])
        labels = {_masked(turn.user_utterance): _label(turn) for turn in record.turns}
        if len(alike) >= ALIKE or (alike and record.split not in alike) or self._contradict(labels):
            return False
        self.labels |= labels
        alike.append(record.split or "")
        self.conversations += 1
        self.turns += len(record.turns)
        self.troubled += troubled
        self.moves.update(move.name for move in moves)
        for turn in record.turns:
            self.calls.update([turn.expected_tool, *(call.expected_tool for call in turn.further_calls)])
        return True

    def _contradict(self, labels: Mapping[str, str]) -> bool:
        return any(self.labels.get(said, label) != label for said, label in labels.items())

    def scarcity(self, move: Scenario) -> float:
        """Return how much sooner a move should be made than by itself."""
        wanted = LEAST * (self.conversations + 1)
        seldom = any(self.calls[tool] < wanted for tool in move.tools) or self.moves[move.name] < RARE * wanted
        return SCARCE if seldom else 1.0


def _label(turn: TurnRecord) -> str:
    """Return what a turn wants, ids aside."""
    calls = [
        (turn.expected_tool, turn.expected_args),
        *((more.expected_tool, more.expected_args) for more in turn.further_calls),
    ]
    return _masked(repr(calls))


def _masked(text: str) -> str:
    return REFERENCE.sub("<id>", ID.sub("<id>", text))
