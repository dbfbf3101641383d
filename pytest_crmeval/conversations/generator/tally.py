"""Counts over the conversations written so far, to cover every tool and to avoid near-duplicates."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_crmeval.conversations.dataset.knowledge import ID
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord
from pytest_crmeval.conversations.describe.similarity import Signature, signature
from pytest_crmeval.conversations.generator.intents import Scenario
from pytest_crmeval.conversations.references import REFERENCE

ALIKE = 2
"""How many conversations may be the same except for names and numbers."""
LEAST = 0.024
"""Wanted number of calls of each tool, per conversation."""
RARE = 0.15
"""Wanted number of uses of each scenario, as a share of LEAST."""
SCARCE = 6.0
"""Factor for the weight of a scenario that is below these numbers."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts over all accepted conversations."""

    conversations: int = 0
    turns: int = 0
    troubled: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    scenarios: Counter[str] = field(default_factory=Counter)
    labels: dict[str, str] = field(default_factory=dict)
    """Utterance -> expected calls: the same words must not have different labels."""
    signatures: dict[Signature, list[str]] = field(default_factory=dict)
    """Signature -> the splits of the conversations that have it."""

    def accepts(self, record: ConversationRecord, scenarios: Sequence[Scenario], troubled: int) -> bool:
        """Count a conversation and return True, unless it is too similar to others or contradicts their labels."""
        alike = self.signatures.setdefault(signature(record), [])
        labels = {_masked(turn.user_utterance): _label(turn) for turn in record.turns}
        contradicts = any(self.labels.get(said, label) != label for said, label in labels.items())
        if contradicts or len(alike) >= ALIKE or (alike and record.split not in alike):
            return False
        self.labels |= labels
        alike.append(record.split or "")
        self.conversations += 1
        self.turns += len(record.turns)
        self.troubled += troubled
        self.scenarios.update(scenario.name for scenario in scenarios)
        for turn in record.turns:
            self.calls.update([turn.expected_tool, *(call.expected_tool for call in turn.further_calls)])
        return True

    def scarcity(self, scenario: Scenario) -> float:
        """Return the factor for the weight of a scenario: more than 1 if it is used too seldom."""
        wanted = LEAST * (self.conversations + 1)
        seldom = (
            any(self.calls[tool] < wanted for tool in scenario.tools) or self.scenarios[scenario.name] < RARE * wanted
        )
        return SCARCE if seldom else 1.0


def _label(turn: TurnRecord) -> str:
    """Return the calls that a turn expects, without ids."""
    calls = [
        (turn.expected_tool, turn.expected_args),
        *((more.expected_tool, more.expected_args) for more in turn.further_calls),
    ]
    return _masked(repr(calls))


def _masked(text: str) -> str:
    return REFERENCE.sub("<id>", ID.sub("<id>", text))
