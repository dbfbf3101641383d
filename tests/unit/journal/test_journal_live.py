"""What a run is doing now: written by its processes, read by those who watch it."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.journal import live


def case(name: str, since: float, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a case that is being played."""
    known = {"key": f"t[{name}]", "suite": "crm", "subject": "mine", "case": name, "since": since}
    return {**known, "confidential": False, "messages": [{"speaker": "user", "text": "Hello"}], **changes}


def test_live_states_of_all_processes_are_read_together(tmp_path: Path) -> None:
    """The case that is played longest comes first."""
    live.write(tmp_path, live.CONTROLLER, traffic=["3 calls waiting for a rate limit"])
    live.write(tmp_path, "gw0", playing=[case("late", 200.0), case("secret", 150.0, confidential=True, messages=[])])
    live.write(tmp_path, "gw1", playing=[case("early", 100.0)])
    found = live.read(tmp_path)

    assert ("3 calls waiting for a rate limit",) == found.traffic
    assert [("gw1", "early"), ("gw0", "secret"), ("gw0", "late")] == [
        (each.worker, each.case) for each in found.playing
    ]
    assert all(each.seconds > 0 for each in found.playing)
    live.clear(tmp_path)
    assert live.LiveRun() == live.read(tmp_path)


@pytest.mark.parametrize("damage", ["dead", "torn", "other"])
def test_files_of_dead_processes_and_damaged_ones_are_ignored(tmp_path: Path, damage: str) -> None:
    live.write(tmp_path, "gw0", playing=[case("one", 100.0)])
    path = tmp_path / live.FOLDER / "gw0.json"
    document = json.loads(path.read_text())
    changed = {
        "dead": json.dumps({**document, "process": {**document["process"], "birth": "earlier"}}),
        "torn": path.read_text()[:-10],
        "other": json.dumps({**document, "playing": [{"key": 1}]}),
    }
    path.write_text(changed[damage])

    assert live.LiveRun() == live.read(tmp_path)
