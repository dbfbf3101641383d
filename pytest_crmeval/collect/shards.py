"""Which of the selected cases are in the shard that this invocation plays."""

import heapq
import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from pytest_crmeval.collect.context import context_of
from pytest_crmeval.collect.selection import lacking
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.options.given import Given
from pytest_crmeval.options.once import once
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.player.agents import subjects_of
from pytest_crmeval.player.subjects import learns, refusal

if TYPE_CHECKING:  # msgspec is wanted only when a marked test is collected
    from pytest_crmeval.player.kinds import Player, Ref

    Named = tuple[Ref, str]

_NARROWED = {"keyword": "-k", "markexpr": "-m", "deselect": "--deselect"}
"""Options of pytest that deselect the same cases on all machines, after the cases were assigned."""


def in_shard(  # noqa: PLR0913, PLR0917 (a test, its cases, and who plays them)
    config: pytest.Config,
    test: str,
    suite: str,
    named: "Sequence[Named]",
    players: "Callable[[Ref, str], Sequence[Player]]",
    marker: str,
) -> "Callable[[Ref, str], bool]":
    """Return a function that says whether this shard plays a case with the agent of a spec; without shards, all are.

    ``players`` returns the agents that play a case. The selection is remembered: shards of different selections do not
    add up to a whole, nor do shards that were played in part.
    """
    options = options_of(config)
    shard = options.shard
    if shard is None:
        return lambda _ref, _spec: True
    from pytest_crmeval.journal.durations import weights_of

    turns = {ref.id: ref.turns for ref, _ in named}
    dealt = deal(suite, weights_of(suite, turns, once(config, _durations)), shard.of)

    def is_mine(ref: "Ref", spec: str) -> bool:
        """Whether a case is assigned to this shard; an agent that learns plays all cases in the first shard."""
        return shard.index == (1 if learns(spec) else dealt[ref.id])

    hand = [(ref, who) for ref, name in named for who in players(ref, name) if is_mine(ref, who[1])]
    options = options_of(config)
    playable = dict.fromkeys(subjects_of(context_of(config)), 0)
    for ref, (who, spec, _) in hand:
        playable[who] = playable.get(who, 0) + (not refusal(spec, marker) and not lacking(ref, spec, options))
    once(config, _deals)[test] = {
        "cases": len(named),
        "deal": _digest(sorted(dealt.items())),
        "content": _digest(sorted((ref.id, ref.fingerprint) for ref, _ in named)),
        "mine": playable,
    }
    return is_mine


def dealt_of(config: pytest.Config) -> JsonObject:
    """Return what the shard of this invocation is a part of; nothing if there are no shards."""
    if options_of(config).shard is None:
        return {}
    tests = once(config, _deals)
    asked = {flag: getattr(config.option, name, None) for name, flag in _NARROWED.items()}
    narrowed = " ".join(flag if value is True else f"{flag} {value}" for flag, value in asked.items() if value)
    return {"tests": {test: tests[test] for test in sorted(tests)}, "narrowed": narrowed}


def _deals(_: pytest.Config) -> dict[str, JsonObject]:
    """Make the record of how the cases of each test were dealt."""
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


def deal(suite: str, weights: Mapping[str, float], of: int) -> dict[str, int]:
    """Return the shard of each case of a suite, from 1: heaviest cases first, each to the lightest shard so far.

    The result depends only on ids, weights and the number of shards. Cases of equal weight are dealt in a hashed
    order, and each suite starts with another shard, so that no shard gets the remainders of all suites.
    """
    first = int(_mixed(suite, ""), 16) % of
    hands = [(0.0, (index - first) % of, index + 1) for index in range(of)]
    heapq.heapify(hands)
    dealt = {}
    for case in sorted(weights, key=lambda case: (-weights[case], _mixed(suite, case))):
        load, turn, index = hands[0]
        dealt[case] = index
        heapq.heapreplace(hands, (load + weights[case], turn, index))
    return dealt


def _mixed(suite: str, case: str) -> str:
    return sha256(f"{suite}\0{case}".encode("utf-8", "surrogatepass")).hexdigest()
