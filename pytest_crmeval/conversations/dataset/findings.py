"""The kinds of problems that a case can have."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from pytest_crmeval.domain.cutting import cut

LONGEST = 120
"""Characters of an example."""


class FindingKind(Enum):
    """A kind of problem: its label, whether it makes a case invalid, and its meaning."""

    UNREADABLE_LINE = "unreadable-line", True, "the line is not a conversation"
    DUPLICATE_ID = "duplicate-id", True, "another conversation has the same id"
    UNKNOWN_TOOL = "unknown-tool", True, "there is no such tool"
    REFUSED_ARGUMENTS = "refused-arguments", True, "the tool refuses the arguments of a call that should succeed"
    PLACEHOLDER_IN_UTTERANCE = (
        "placeholder-in-utterance",
        True,
        "the user's words contain a placeholder that is never filled",
    )
    PLACEHOLDER_IN_ARGUMENTS = (
        "placeholder-in-arguments",
        True,
        "an expected argument contains a placeholder that is never filled",
    )
    BAD_REFERENCE = "bad-reference", True, "a reference that no earlier turn resolves"
    LEAKED_VALUE = "leaked-value", True, "a value to be written appears only in the expected response"
    UNSAID_VALUE = "unsaid-value", True, "a value to be written is never provided"

    REFERENCE_IN_UTTERANCE = (
        "reference-in-utterance",
        False,
        "the user's words contain a reference, which is replaced by its value",
    )
    SAME_UTTERANCE = "same-utterance", False, "the same words have different expected calls elsewhere"
    CONTRADICTED_FILTER = (
        "contradicted-filter",
        False,
        "the user names one field, but the expected call filters by another",
    )
    BARE_SEARCH = "bare-search", False, "the user asks for all records, but the expected call has filters"
    UNSAID_FILTER = "unsaid-filter", False, "the expected call filters by a value that was never provided"
    STALE_TIMESTAMP = "stale-timestamp", False, "the expected response contains the time at which it was generated"
    FOREIGN_ID = "foreign-id", False, "the expected response contains an id that is not in the case"
    UNRESOLVED_RESPONSE = "unresolved-response", False, "the expected response contains a reference or placeholder"
    NULL_NAME = "null-name", False, 'the expected response calls a record "null"'
    UNLISTED_REFERENCE = "unlisted-reference", False, "references_previous_turns omits a turn that is referenced"
    LABEL_NOT_LEVEL = "label-not-level", False, "the id names another complexity_level"
    LEVEL_NOT_TURNS = "level-not-turns", False, "complexity_level does not match the number of turns"
    ALIASED_ARGUMENT = "aliased-argument", False, "the expected call uses an alternative name of an argument"
    NO_OP = "no-op", False, "the record already has the new values"
    TOOL_NAME_SAID = "tool-name-said", False, "the user mentions the name of a tool"
    NOTHING_TO_FIND = "nothing-to-find", False, "the search can't find anything, whatever its filters"
    WRONG_CATEGORY = "wrong-category", False, "workflow_category belongs to another task"
    GENERAL_CATEGORY = "general-category", False, "workflow_category is General, although the task has its own category"

    def __init__(self, label: str, invalid: bool, meaning: str) -> None:  # noqa: FBT001 (an enum has no keywords)
        self.label = label
        self.invalid = invalid
        self.meaning = meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One problem of one conversation."""

    kind: FindingKind
    turn: int = 0
    """The number of the turn; 0 for the whole conversation."""
    text: str
    """The part of the case that has the problem."""

    def __str__(self) -> str:
        """Return the turn, the problem and the text."""
        return f"{f'turn {self.turn}: ' if self.turn else ''}{self.kind.meaning}: {self.text}"


def shown(value: Any) -> str:  # noqa: ANN401 (JSON)
    """Return a value for an example: on one line, shortened."""
    return cut(repr(value), LONGEST)
