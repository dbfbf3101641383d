"""Durations of the cases of an earlier run, which are used to balance shards."""

import json
from collections.abc import Mapping
from pathlib import Path

from msgspec import convert

from pytest_crmeval.journal.reader import RecordedTrial, lines

Durations = Mapping[tuple[str, str], float]
"""Suite and id of a case -> total seconds of all its subjects."""
_LEAST = 0.001
"""The shortest duration, in seconds."""


class DurationsError(Exception):
    """A file has no durations of cases; the message names the file and the reason."""


def read_durations(path: Path) -> Durations:
    """Return the duration of each completed case; replays from a cassette don't count."""
    try:
        if path.suffix == ".jsonl":
            recorded = [line.trial for line in lines(path) if line.trial]
        else:
            recorded = convert(json.loads(path.read_bytes())["trials"], list[RecordedTrial])
    except OSError as error:
        raise DurationsError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DurationsError(f"{path}: neither a report nor a journal: {error!r}") from error
    found: dict[tuple[str, str], float] = {}
    trials = {trial.key: trial for trial in recorded}
    for _, trial in sorted(trials.items()):  # a fixed order, because sums of floats depend on it
        if trial.is_scored and not (trial.bill and trial.bill.replayed):
            case = trial.suite, trial.case
            found[case] = found.get(case, 0.0) + trial.seconds
    return found


def weights_of(suite: str, turns: Mapping[str, int], durations: Durations) -> dict[str, float]:
    """Return the weight of each case: its duration, or an estimate from its number of turns.

    Without any known duration in the suite, the number of turns decides. Weights are whole milliseconds, because
    sums of floats depend on their order.
    """
    known = {case: durations[suite, case] for case in turns if (suite, case) in durations}
    counted = sum(max(1, turns[case]) for case in known)
    pace = sum(known[case] for case in sorted(known)) / counted if known else 1.0
    return {case: float(max(1, round(known.get(case, max(1, count) * pace) / _LEAST))) for case, count in turns.items()}
