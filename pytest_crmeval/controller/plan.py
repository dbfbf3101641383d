"""The plan of a run: its cases, their description, and their expected durations."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from pytest_crmeval.channel import CollectedPlan, encode
from pytest_crmeval.collect.prefetch import PrefetchPlan
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import PlannedCase, is_of_checkpoint
from pytest_crmeval.journal.gc_pause import gc_paused
from pytest_crmeval.journal.history import case_of, history, relevant_spec

Cases = list[tuple[str, PlannedCase]]
"""Scheduled node ids with their cases."""


def encode_cases(cases: Cases) -> bytes:
    """Return cases as bytes; most node ids equal the key of their case, and are left out."""
    return encode([("" if nodeid == case.key else nodeid, case) for nodeid, case in cases])


class RunPlan:
    """The planned cases; known when this process, or its first worker, has collected."""

    def __init__(self) -> None:
        self.cases: Mapping[str, PlannedCase] = {}
        """Scheduled node id -> case."""
        self.prefetch = PrefetchPlan(weights={}, alone={})
        self.shard: JsonObject = {}
        """How the cases were divided into shards; empty if there are no shards."""
        self.is_known = False
        self.repeated = False
        """Whether every worker plays every case."""

    def take(self, cases: Cases, prefetch: PrefetchPlan, shard: JsonObject) -> None:
        """Store the collected cases; only the first call counts."""
        if not self.is_known:
            # Most node ids equal the key: share one string.
            self.cases = {planned.key if planned.key == nodeid else nodeid: planned for nodeid, planned in cases}
            self.prefetch = prefetch
            self.shard = shard
            self.is_known = True

    def receive(self, message: CollectedPlan) -> None:
        """Store the cases that a worker has collected."""
        if not self.is_known:
            with gc_paused():
                cases = msgspec.msgpack.decode(message.cases, type=Cases)
                found = [(nodeid or case.key, case) for nodeid, case in cases]
                self.take(found, PrefetchPlan.from_dict(message.prefetch), dict(message.shard))

    def repeat(self) -> None:
        """Make every worker play every case in its item; UsageError if one of them can be played only once."""
        if self.prefetch.streams:
            raise pytest.UsageError("crmeval: a learning agent plays each case only once; choose another --dist")
        if self.has_checkpoints:
            raise pytest.UsageError("crmeval: each solution file is run only once; choose another --dist")
        alone = {"every worker plays every case": len(self.cases)}
        self.prefetch = PrefetchPlan(weights={}, alone=alone, left_out=self.prefetch.left_out)
        self.repeated = True

    def key_of(self, nodeid: str) -> str:
        """Return the key of the case of an item; empty if it is not ours."""
        planned = self.cases.get(nodeid)
        return planned.key if planned else ""

    def same(self, nodeid: str) -> str:
        """Return the plan's copy of a node id, to save memory; the given string if the plan has none."""
        key = self.key_of(nodeid)
        return key if key == nodeid else nodeid

    @property
    def has_checkpoints(self) -> bool:
        """Whether solution files are run."""
        return any(map(is_of_checkpoint, self.cases.values()))

    @property
    def has_shards(self) -> bool:
        """Whether there are cases, at least in other shards: then this run is stored, to be merged."""
        return bool(self.shard.get("tests"))

    def described(self, each: int) -> str:
        """Return how many cases are in flight, and why others are played one at a time; empty if neither applies."""
        prefetch = self.prefetch
        learners = {key for stream in prefetch.streams for key in (*stream.ordered, *stream.after)}
        count = len(prefetch.weights.keys() - learners)
        parts = [f"{each} {' and '.join(prefetch.kinds)} in flight per worker"] if count and each > 1 else []
        for stream in prefetch.streams:
            then = f", then {len(stream.after)} with what it has learned" if stream.after else ""
            parts.append(f"a learning agent plays {len(stream.ordered)} in order{then}")
        for why, cases in prefetch.alone.items():
            parts.append(f"{cases} case{'s' * (cases != 1)} one at a time ({why})")
        return "; ".join(parts)

    def weights(self, reports: Path, addresses: Mapping[str, str]) -> Mapping[str, float]:
        """Return the expected duration of each case, from earlier runs or from its number of turns."""
        ahead = [case for case in self.cases.values() if case.key in self.prefetch.weights]
        if not ahead:
            return {}
        took: dict[tuple[object, str], float] = {}
        pace: list[float] = []
        for trial in history(reports, ahead, addresses):
            if trial.seconds is not None and not trial.solutions:
                took.setdefault((trial.case, trial.spec), trial.seconds)
                pace.append(trial.seconds / trial.turns)
        turn = sum(pace) / len(pace) if pace else 1.0
        found = {case.key: took.get((case_of(case), relevant_spec(case.spec, addresses))) for case in ahead}
        return {key: found.get(key) or turn * turns for key, turns in self.prefetch.weights.items()}
