"""The command line of the simple-evals scripts, as it was used there."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from pytest_crmeval import ToolCall
from pytest_crmeval.journal.index import run_of
from pytest_crmeval.journal.jobs import State
from tests.postgres.processes import eventually
from tests.providers.answers import Answer, Call, Say
from tests.providers.loopback import Loopback, Seen

EVALS = Path(__file__).parents[2] / "evals"
SEED = "--eval browsecomp --models gpt-4o,gpt-3.5-turbo --limit 3 --output-dir async_results"


def brain(seen: Seen) -> Answer:
    """Answer every request; as a judge, accept everything."""
    if "<evidence>" in seen.last_user_text:
        return Call(ToolCall(tool="grade", arguments={"extracted_answer": "x", "reasoning": "-", "correct": "yes"}))
    return Say("Exact Answer: x\nConfidence: 80%")


def typed(folder: Path, *words: str) -> str:
    """Return the output of a command."""
    command = [sys.executable, "-m", "pytest_crmeval.cli", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=600).stdout


def test_questions_are_submitted_run_and_polled(tmp_path: Path, providers: Callable[..., Loopback]) -> None:
    """Two models, three questions each, a judge; without PostgreSQL."""
    server = providers(brain)
    shutil.copytree(EVALS, tmp_path / "evals", ignore=shutil.ignore_patterns("*.jsonl", "test_crm.py", "__pycache__"))
    (tmp_path / "evals/data/questions.jsonl").write_text("")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    assert "run seed started" in typed(tmp_path, "submit", *SEED.split(), "--run", "seed")
    place = tmp_path / "async_results/seed"
    eventually(lambda: run_of(place).state is State.FINISHED, "it is finished", 60)

    polled = json.loads(typed(tmp_path, "status", "--reports", "async_results", "--json"))
    assert {"gpt-4.1", "gpt-4o", "gpt-3.5-turbo"} == {seen.model for seen in server.seen}
    assert {("browsecomp", "openai:gpt-4o"), ("browsecomp", "openai:gpt-3.5-turbo")} == {
        (task["suite"], task["subject"]) for task in polled["tasks"]
    }
    assert [3, 3] == [task["passed"] for task in polled["tasks"]], (place / "run.log").read_text()
