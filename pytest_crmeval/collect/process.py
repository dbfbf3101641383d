"""The interface between collection and this process's part of the run."""

from typing import Protocol

from pytest_crmeval.collect.prefetch import PrefetchPlan
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.player.context import Services


class Process(Services, Protocol):
    """What collection needs from this process, which is the controller of the run or one of its workers."""

    @property
    def done(self) -> set[tuple[str, ...]]:
        """Cases, with their content and agent, that need not be played again."""
        ...

    def start_server(self) -> None:
        """Start the PostgreSQL of the run in the background."""
        ...

    def send_plan(self, cases: list[tuple[str, PlannedCase]], prefetch: PrefetchPlan, shard: JsonObject) -> None:
        """Send the plan to the controller: node ids with their cases, and the shard they belong to."""
        ...
