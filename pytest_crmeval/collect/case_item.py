"""The case of a pytest item and its state: everything that we store with an item."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_crmeval.collect.names import MARKERS
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.player.job import Job
from pytest_crmeval.player.kinds import Case, Kind, Ref

if TYPE_CHECKING:  # loaded when the first item is run
    from pytest_crmeval.domain.trial import Trial
    from pytest_crmeval.player.outcome import Outcome
    from pytest_crmeval.player.trial_record import TrialRecord
    from pytest_crmeval.ports.agent import Agent


class CaseParam(msgspec.Struct, frozen=True, kw_only=True):
    """The parameter of a test: the location of the case, and the agent that plays it."""

    kind: Kind
    ref: Ref
    suite: str
    agent: str
    spec: str
    settings: Mapping[str, Any]
    """The arguments of the marker other than the path."""
    trial: int = 1
    """Number of the attempt at the case."""


@dataclass(slots=True, kw_only=True, eq=False)
class CaseItem:
    """The case of an item, and its trial while the item runs."""

    item: pytest.Item
    param: CaseParam
    planned: PlannedCase
    file_name: str = ""
    """Name of the trial's files, if another test plays the same case; empty if they are named after the case."""
    may_be_ahead: bool = False
    """Whether the case may be played before its item runs."""
    given: "Case | None" = None
    """The case that our fixture gave to the test."""
    our_agent: "Agent | None" = None
    """The agent that our fixture made; any other agent comes from a fixture of the user."""
    record: "TrialRecord | None" = None
    outcome: "Outcome | None" = None
    """How the case was played."""
    trial: "Trial | None" = None
    """The trial until it is reported."""
    finished: float = 0.0
    """When the trial was made; 0 if there is none."""
    reported: bool = False
    """Whether the verdict is on the report of the current run of the test."""

    @property
    def job(self) -> Job:
        """The job for a player."""
        param = self.param
        return Job(
            planned=self.planned,
            kind=param.kind,
            ref=param.ref,
            settings=param.settings,
            file_name=self.file_name,
        )

    def forget(self) -> None:
        """Drop the agent and the dialogue, because pytest keeps every item to the end."""
        self.given = self.our_agent = self.record = self.outcome = None


CASE = pytest.StashKey[CaseItem]()


def case_of(item: pytest.Item) -> CaseItem:
    """Return the case of our item; the test fails without a traceback if it has none of our markers."""
    case = item.stash.get(CASE, None)
    if case is None:
        near = [
            (mark.name, found) for mark in item.iter_markers() for found in get_close_matches(mark.name, MARKERS, n=1)
        ]
        hint = f"; did you mean {near[0][1]!r} instead of {near[0][0]!r}?" if near else ""
        kinds = ", ".join(f"@pytest.mark.{name}" for name in MARKERS)
        pytest.fail(
            f"{item.nodeid} uses a fixture of crmeval, so it needs one of the markers {kinds}{hint}", pytrace=False
        )
    return case


def cases_of(items: Iterable[pytest.Item]) -> list[CaseItem]:
    """Return the cases of our items, in their order."""
    return [case for item in items if (case := item.stash.get(CASE, None))]
