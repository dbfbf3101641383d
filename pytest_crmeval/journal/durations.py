"""How long the cases of an earlier run took: what shards are balanced by."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.score import Verdict

Durations = Mapping[tuple[str, str], float]
"""Suite and id of a case -> seconds, all its subjects together."""
_PLAYED = {str(Verdict.PASSED), str(Verdict.FAILED)}
_LEAST = 0.001
"""Seconds; nothing takes no time."""


class DurationsError(Exception):
    """A file that does not tell how long cases take; the message says which and why."""


def read_durations(path: Path) -> Durations:
    """Return what each case took that was played to its end; what came from a cassette took nobody's time."""
    try:
        trials = {str(trial["key"]): trial for trial in _trials(path)}
        found: dict[tuple[str, str], float] = {}
        for key in sorted(trials):  # in whatever order they ended: sums of fractions depend on it
            trial = trials[key]
            if trial["verdict"] in _PLAYED and not (trial.get("bill") or {}).get("replayed"):
                case = str(trial["suite"]), str(trial["case"])
                found[case] = found.get(case, 0.0) + float(trial["seconds"])
    except OSError as error:
        raise DurationsError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DurationsError(f"{path}: neither a report nor a journal: {error!r}") from error
    return found


def weights_of(suite: str, turns: Mapping[str, int], durations: Durations) -> dict[str, float]:
    """Return how heavy each case is: the seconds that it took, or as many as its turns usually take.

    Turns count where nobody has played any case of the suite. Milliseconds, whole: fractions add up otherwise in
    another order.
    """
    known = {case: durations[suite, case] for case in turns if (suite, case) in durations}
    counted = sum(max(1, turns[case]) for case in known)
    pace = sum(known[case] for case in sorted(known)) / counted if known else 1.0
    return {case: _heavy(known.get(case, max(1, count) * pace)) for case, count in turns.items()}


def _heavy(seconds: float) -> float:
    return float(max(1, round(seconds / _LEAST)))


def _trials(path: Path) -> Iterable[dict[str, Any]]:
    if path.suffix != ".jsonl":
        trials: list[dict[str, Any]] = json.loads(path.read_bytes())["trials"]
        return trials
    with path.open("rb") as file:
        lines = (json.loads(line) for line in file if line.endswith(b"\n") and b'"trial"' in line)
        return [record["trial"] for record in lines if "trial" in record]
