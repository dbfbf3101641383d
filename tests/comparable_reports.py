"""Reduce the report of a run to what an interruption must not change."""

from typing import Any


def figures(report: dict[str, Any]) -> dict[str, Any]:
    """Return all that must be the same in both: every trial, every metric, every token, and that times add up.

    What may differ is the run's own name and times, how often it was begun, and how long each trial took.
    """
    results, trials = [dict(result) for result in report["results"]], [dict(trial) for trial in report["trials"]]
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
