"""This process's part of the run, as collection sees it."""

from typing import Protocol

from pytest_crmeval.collect.prefetch import PrefetchPlan
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.player.context import Services


class Process(Services, Protocol):
    """What collection needs of this process, which is the controller of the run or one of its workers."""

    @property
    def done(self) -> set[tuple[str, ...]]:
        """Cases, with their content and agent, that need not be played again."""
        ...

    def start_server(self) -> None:
        """Start the PostgreSQL of the run in the background."""
        ...

    def send_plan(self, cases: list[tuple[str, PlannedCase]], prefetch: PrefetchPlan, shard: JsonObject) -> None:
        """Send the controller what is to be played: node ids and their cases, and what the shard is a part of."""
        ...
