"""Reduce the report of a run to what an interruption must not change."""

from typing import Any


def figures(report: dict[str, Any]) -> dict[str, Any]:
    """Return all that must be the same in both: every trial, every metric, every token, and that times add up.

    What may differ is the run's own name and times, how often it was begun, in which order trials ended, and how long
    each trial and call took.
    """
    results = [_untimed(result) for result in report["results"]]
    trials = [_untimed(trial) for trial in sorted(report["trials"], key=lambda trial: str(trial["key"]))]
    times: dict[tuple[str, str], float] = {}
    for trial in trials:
        place = trial["suite"], trial["subject"]
        times[place] = times.get(place, 0.0) + trial.pop("seconds")
    for result in results:
        seconds = times[result["suite"], result["subject"]]
        slowest = result.pop("slowest")
        result["the slowest are its own"] = len(slowest) == min(10, result["planned"] - result["not_run"])
        result["figures"] = {
            name: {**figure, "value": 0, "interval": []} if name.startswith("latency") else figure
            for name, figure in result["figures"].items()
        }
        result["seconds add up"] = abs(result.pop("seconds") - seconds) < 1e-3
    return {
        "complete": report["complete"],
        "spent": report["run"]["spent"],
        "results": results,
        "trials": trials,
    }


def _untimed(record: dict[str, Any]) -> dict[str, Any]:
    """Return a result or a trial without the seconds of its model calls."""
    calls = record.get("service")
    timed = {"service": {**calls, "seconds": 0.0, "first_seconds": 0.0}} if calls else {}
    return {name: value for name, value in {**record, **timed}.items() if name != "tokens_per_second"}
