"""Programs of a checkpoint that failed, each with the test that it failed."""

from itertools import islice
from pathlib import Path

from pytest_crmeval.domain.file_outcome import UNJUDGED, TestVerdict
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.solutions.records import Record
from pytest_crmeval.journal.solutions.results import EarlierResults, ResultsError

MOST = 30
"""Programs of a file that are shown."""
_NOT_FAILED = {*UNJUDGED, str(TestVerdict.ACCEPTED)}


def failed_programs(run: Path, trial: Trial) -> list[JsonObject]:
    """Return the first programs of a solution file that failed; nothing if the results are gone."""
    if trial.solutions is None or not trial.solutions.results:
        return []
    try:
        lines = EarlierResults(run / trial.solutions.results).lines()
        failed = (record for record in lines if record.get("verdict", "AC") not in _NOT_FAILED)
        return [_shown(record) for record in islice(failed, MOST)]
    except (OSError, ResultsError, ValueError, KeyError, TypeError):  # gone, or not what we have written
        return []


def _shown(record: Record) -> JsonObject:
    """Return a program: its place, its verdict, its source, and the test that decided."""
    tests = record["tests"]
    number = next((n for n, test in enumerate(tests, start=1) if test["verdict"] == record["verdict"]), 0)
    test = tests[number - 1] if number else {}
    shown = {
        "problem": record["problem"],
        "line": record["line"],
        "verdict": record["verdict"],
        "reason": record["reason"],
        "program": record.get("program"),
        "test": number and f"test {number} of {len(tests)} ({test['kind']})",
        **{name: test.get(name) for name in ("input", "expected", "output")},
    }
    return {name: value for name, value in shown.items() if value}
