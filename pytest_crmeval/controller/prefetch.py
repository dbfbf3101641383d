"""Prefetching while pytest's loop runs."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_crmeval.channel import Channel
from pytest_crmeval.collect.case_item import cases_of
from pytest_crmeval.collect.context import context_of
from pytest_crmeval.compat import catch_logs
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.options.values import INFLIGHT
from pytest_crmeval.player.slots import Slots

GRACE = 60.0
"""Seconds that cases in flight have to finish when a run is interrupted."""


@contextmanager
def in_flight(session: pytest.Session, channel: Channel) -> Iterator[Slots]:
    """Prefetch in this process while the loop runs; yield the slots to the items."""
    from pytest_crmeval.player.player import Player  # a controller with workers plays nothing itself

    config = session.config
    cases = cases_of(session.items)
    ahead = {case.planned.key: case.job for case in cases if case.may_be_ahead}
    needs_server = any(job.kind.needs_server for job in ahead.values())
    playing = Player(context_of(config), ahead, needs_server=needs_server)
    playing.load({case.param.kind for case in cases})  # a worker is idle until it gets its first test
    slots = Slots(min(at_once(config), len(ahead)), channel, playing.seat)
    with catch_logs(config):
        slots.start()
        yield slots


def at_once(config: pytest.Config) -> int:
    """Return the maximum number of cases that a process plays at the same time."""
    return options_of(config).inflight or INFLIGHT
