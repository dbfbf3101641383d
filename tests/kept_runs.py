"""Runs as they are kept on disk, made without playing."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.journal import reader as journal
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.report import Report

STARTED = "2026-11-16T02:18:47+00:00"
ENDED = "2026-11-16T02:19:00+00:00"


def part(shard: str = "", *, agents: Sequence[str] = ("oracle",), **changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a part of a run; of a shard 2/4, if one is named."""
    index, _, of = shard.partition("/")
    dealt = {"test_crm.py::test_conversation": {"cases": 9, "deal": "d", "content": "c"}}
    return {
        "started": STARTED,
        "command": "pytest",
        "agents": dict.fromkeys(agents, "oracle"),
        "sample": None,
        "seed": 0,
        **({"shard": {"index": int(index), "of": int(of), "tests": dealt, "narrowed": ""}} if shard else {}),
        "scorers": ["state", "calls", "reply"],
        "invalid": "report",
        "server": "embedded",
        **changes,
    }


def keep(  # noqa: PLR0913 (each may be left out)
    reports_folder: Path,
    run: str,
    trials: Sequence[Trial],
    *,
    parts: Sequence[dict[str, Any]] = (),
    not_run: Sequence[PlannedCase] = (),
    red: Sequence[str] = (),
    spent: float = 0.0,
) -> Report:
    """Write journal and report of a run as the recorder does, and return the report."""
    path = reports_folder / run / "trials.jsonl"
    cases = [*(trial.planned.to_dict() for trial in trials), *(case.to_dict() for case in not_run)]
    begun = [{"part": each, "planned": [] if n else cases} for n, each in enumerate(parts or [part()])]
    played = [{"trial": trial.to_dict()} for trial in trials]
    lines = [*begun, *played, *({"red": key} for key in red), {"spent": spent}]
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    past = journal.read(path)
    facts: dict[str, Any] = {
        "id": run,
        "started": STARTED,
        "ended": ENDED,
        "spent": round(past.spent, 8),
        "parts": past.parts,
        **({"red": sorted(past.red)} if past.red else {}),
        "machine": "Linux",
        "versions": {"python": "3.11.7", "pytest-crmeval": "0.1.0"},
    }
    report = reports.build(facts, past.trials, past.planned.values())
    reports.write(report, reports_folder)
    return report
