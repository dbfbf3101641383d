"""Cases in flight while pytest's loop runs: when they are begun, and how they end with it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_crmeval.collect.cases import PLANNED, job_of
from pytest_crmeval.collect.context import context_of
from pytest_crmeval.collect.keys import AHEAD
from pytest_crmeval.collect.prefetch import MAY_BE_AHEAD, PrefetchPlan
from pytest_crmeval.compat.logging import watch
from pytest_crmeval.domain.specs import asked
from pytest_crmeval.domain.stream import Stream
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.journal.history import case_of, history
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.options.values import INFLIGHT
from pytest_crmeval.player.queue_client import QueueClient
from pytest_crmeval.player.slots import Slots

GRACE = 60.0
"""Seconds that cases in flight have to come to their end when a run is interrupted."""


@contextmanager
def in_flight(session: pytest.Session, queue: QueueClient, player: str) -> Iterator[Slots]:
    """Play ahead in this process while the loop runs; items find there what was played."""
    from pytest_crmeval.player.player import Player  # a controller with workers plays nothing itself

    config = session.config
    ahead = {item.stash[PLANNED].key: job_of(item) for item in session.items if item.stash.get(MAY_BE_AHEAD, False)}
    playing = Player(context_of(config), ahead)
    if ahead:
        playing.load()
    slots = Slots(min(at_once(config), len(ahead)), queue, player, playing.seat)
    config.stash[AHEAD] = lambda: slots
    with watch(config):
        slots.start()
        yield slots


def at_once(config: pytest.Config) -> int:
    """Return how many cases a process plays at the same time."""
    return options_of(config).inflight or INFLIGHT


def described(prefetch: PrefetchPlan, each: int) -> str:
    """Say what is in flight, and what is not and why; nothing if that is nothing special."""
    learners = {key for stream in prefetch.streams for key in (*stream.ordered, *stream.after)}
    count = len(prefetch.weights.keys() - learners)
    told = [f"{each} {' and '.join(prefetch.kinds)} in flight per worker"] if count and each > 1 else []
    told += map(_in_order, prefetch.streams)
    for why, cases in prefetch.alone.items():
        told.append(f"{cases} case{'s' * (cases != 1)} one at a time ({why})")
    return "; ".join(told)


def _in_order(stream: Stream) -> str:
    then = f", then {len(stream.after)} with what it has learnt" if stream.after else ""
    return f"a learner plays {len(stream.ordered)} one after the other{then}"


def weighed(
    prefetch: PrefetchPlan, planned: Sequence[PlannedCase], reports: Path, addresses: Mapping[str, str] | None = None
) -> Mapping[str, float]:
    """Return how long each case may take: as long as last time, or as many turns as it has, at the same pace."""
    ahead = [case for case in planned if case.key in prefetch.weights]
    took: dict[tuple[object, str], float] = {}
    pace: list[float] = []
    for trial in history(reports, ahead, addresses):
        if trial.seconds is not None and not trial.solutions:
            took.setdefault((trial.case, trial.spec), trial.seconds)
            pace.append(trial.seconds / trial.turns)
    turn = sum(pace) / len(pace) if pace else 1.0
    found = {case.key: took.get((case_of(case), asked(case.spec, addresses))) for case in ahead}
    return {key: found.get(key) or turn * turns for key, turns in prefetch.weights.items()}
