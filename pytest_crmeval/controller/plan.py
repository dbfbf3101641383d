"""What a run is going to play: its description for the terminal, and the weight of each case for the queue."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_crmeval.collect.prefetch import PrefetchPlan
from pytest_crmeval.domain.specs import asked
from pytest_crmeval.domain.stream import Stream
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.journal.history import case_of, history


def described(prefetch: PrefetchPlan, each: int) -> str:
    """Return how many cases are in flight, and why others are not; empty if there is nothing to report."""
    learners = {key for stream in prefetch.streams for key in (*stream.ordered, *stream.after)}
    count = len(prefetch.weights.keys() - learners)
    parts = [f"{each} {' and '.join(prefetch.kinds)} in flight per worker"] if count and each > 1 else []
    parts += map(_in_order, prefetch.streams)
    for why, cases in prefetch.alone.items():
        parts.append(f"{cases} case{'s' * (cases != 1)} one at a time ({why})")
    return "; ".join(parts)


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
