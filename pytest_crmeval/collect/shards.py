"""Which of the selected cases are in the shard that this invocation plays."""

import heapq
import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from pytest_crmeval.collect.context import context_of
from pytest_crmeval.collect.selection import missing_requirement
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.options.given import Given
from pytest_crmeval.options.once import once
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.player.agents import subjects_of
from pytest_crmeval.player.subjects import learns, refusal

if TYPE_CHECKING:  # msgspec is needed only when a marked test is collected
    from pytest_crmeval.player.kinds import Player, Ref

    Named = tuple[Ref, str]

_NARROWED = {"keyword": "-k", "markexpr": "-m", "deselect": "--deselect"}
"""Options of pytest that deselect the same cases on all machines, after the cases were assigned."""


def shard_filter(  # noqa: PLR0913, PLR0917 (a test, its cases, and who plays them)
    config: pytest.Config,
    test: str,
    suite: str,
    named: "Sequence[Named]",
    players: "Callable[[Ref, str], Sequence[Player]]",
    marker: str,
) -> "Callable[[Ref, str], bool]":
    """Return a function that decides whether this shard plays a case with the agent of a spec.

    Without shards, it is always true. ``players`` returns the agents that play a case. The selection is stored: shards
    of different selections do not add up to a whole, nor do shards that were played in part.
    """
    options = options_of(config)
    shard = options.shard
    if shard is None:
        return lambda _ref, _spec: True
    from pytest_crmeval.journal.durations import weights_of

    turns = {ref.id: ref.turns for ref, _ in named}
    assigned = assigned_shards(suite, weights_of(suite, turns, once(config, _durations)), shard.of)

    def is_assigned(ref: "Ref", spec: str) -> bool:
        """Whether a case is assigned to this shard; an agent that learns plays all its cases in the first shard."""
        return shard.index == (1 if learns(spec) else assigned[ref.id])

    own_cases = [(ref, who) for ref, name in named for who in players(ref, name) if is_assigned(ref, who[1])]
    options = options_of(config)
    playable = dict.fromkeys(subjects_of(context_of(config)), 0)
    for ref, (who, spec, _) in own_cases:
        playable[who] = playable.get(who, 0) + (
            not refusal(spec, marker) and not missing_requirement(ref, spec, options)
        )
    once(config, _divisions)[test] = {
        "cases": len(named),
        "deal": _digest(sorted(assigned.items())),
        "content": _digest(sorted((ref.id, ref.fingerprint) for ref, _ in named)),
        "mine": playable,
    }
    return is_assigned


def shard_division(config: pytest.Config) -> JsonObject:
    """Return how the cases were divided into shards; empty if there are no shards."""
    if options_of(config).shard is None:
        return {}
    tests = once(config, _divisions)
    asked = {flag: getattr(config.option, name, None) for name, flag in _NARROWED.items()}
    narrowed = " ".join(flag if value is True else f"{flag} {value}" for flag, value in asked.items() if value)
    return {"tests": {test: tests[test] for test in sorted(tests)}, "narrowed": narrowed}


def _divisions(_: pytest.Config) -> dict[str, JsonObject]:
    """Return the record of how the cases of each test were divided."""
    return {}


def _durations(config: pytest.Config) -> Mapping[tuple[str, str], float]:
    from pytest_crmeval.journal.durations import DurationsError, read_durations

    path = options_of(config).durations
    try:
        return read_durations(path) if path else {}
    except DurationsError as error:
        raise pytest.Collector.CollectError(f"{Given(config).source('durations')}: {error}") from None


def _digest(value: object) -> str:
    return sha256(json.dumps(value).encode()).hexdigest()[:16]


def assigned_shards(suite: str, weights: Mapping[str, float], of: int) -> dict[str, int]:
    """Return the shard of each case of a suite, from 1: heaviest cases first, each to the lightest shard so far.

    The result depends only on ids, weights and the number of shards. Cases of equal weight are assigned in a hashed
    order, and each suite starts with another shard, so that no shard gets the remainders of all suites.
    """
    first = int(_mixed(suite, ""), 16) % of
    shards = [(0.0, (index - first) % of, index + 1) for index in range(of)]
    heapq.heapify(shards)
    assigned = {}
    for case in sorted(weights, key=lambda case: (-weights[case], _mixed(suite, case))):
        load, turn, index = shards[0]
        assigned[case] = index
        heapq.heapreplace(shards, (load + weights[case], turn, index))
    return assigned


def _mixed(suite: str, case: str) -> str:
    return sha256(f"{suite}\0{case}".encode("utf-8", "surrogatepass")).hexdigest()
