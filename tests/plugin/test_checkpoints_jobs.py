"""Solution files in runs that are long, split, killed, or shared with agents that wait for models."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from pytest_crmeval import cli
from tests.fake_sandbox import (
    CONFTEST,
    PROBLEMS,
    RAN,
    TEST,
    Made,
    solution,
    summaries,
    wait_for,
    whole_tree,
    write_lines,
)
from tests.postgres.processes import eventually
from tests.projects import TEST_FILE, case, report_of
from tests.providers.answers import Answer
from tests.providers.loopback import Loopback, Seen, crm_brain

NO_XDIST = ("-p", "no:xdist")
ROOT = Path(__file__).parents[2]


def lines_in(path: Path) -> int:
    """Count the whole lines of a file that may not be there yet."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_estimate_of_a_solution_file_has_time_but_no_calls(judging: Made) -> None:
    """No model is called, whatever agents are named; without an earlier run, the time is a guess."""
    result = judging().runpytest(*NO_XDIST, "--crmeval-estimate", "--crmeval-agent", "mute")

    result.stdout.fnmatch_lines(["checkpoints  checkpoint-49 * 1 * 0 *", "assumed: 1 s per solution"])
    assert [] == RAN


def test_shards_divide_files_and_a_merge_has_all_results(
    judging: Made, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester = judging({f"checkpoint-{step}/s": [solution("a")] for step in (9, 49, 100)})
    monkeypatch.chdir(pytester.path)
    for part in (1, 2):
        pytester.runpytest(*NO_XDIST, "--crmeval-shard", f"{part}/2", "--crmeval-run", f"part-{part}")
    capsys.readouterr()

    status = cli.main(["merge", "part-1", "part-2", "-o", "whole"])

    shown = capsys.readouterr().out
    assert 0 == status, shown
    assert 6 == len(RAN)
    folder = Path(pytester.path, "reports/whole")
    assert 3 == len([name for name in whole_tree(folder) if name.endswith("eval_s.jsonl")])
    batch = json.loads((folder / "batch_eval_results.json").read_text(encoding="utf-8"))
    assert [9, 49, 100] == [each["step"] for each in batch["results"]]
    assert all(Path(name).exists() for each in batch["results"] for name in each["evaluation_files"])
    assert 1 == shown.count("best checkpoint in checkpoints: checkpoint-9 ")
    assert 0 == cli.main(["report", "whole"])
    figures = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["checkpoints", "by", "rating", "checkpoint-9", "checkpoint-49", "checkpoint-100"] in figures
    assert ["800-1199", "1/1", "1/1", "1/1"] in figures


def test_run_that_is_killed_during_a_file_keeps_graded_solutions(
    judging: Made, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """During the run, the progress of the file is visible, also with workers; the resumed run grades only the rest."""
    place = Path(judging().path, "met")
    pytester = judging({"checkpoint-49/s": [solution("a"), solution("b", f"meet {place}\nsay 5"), solution("c")]})
    monkeypatch.chdir(pytester.path)
    words = [sys.executable, "-m", "pytest", "-n", "1", "--crmeval-run", "r"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
    results = Path(pytester.path, "reports/r/eval_checkpoint_49/eval_s.jsonl")
    try:
        eventually(lambda: lines_in(results) == 3, "two of three lines are judged", 60.0)
        cli.main(["status", "r"])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert "checkpoint-49 s: 2 of 3 graded" in capsys.readouterr().out
    place.touch()

    pytester.runpytest(*NO_XDIST, "--crmeval-run", "r").assert_outcomes(passed=1)

    assert [f"meet {place}\nsay 5"] * 2 == RAN
    assert 3 == summaries(pytester)["checkpoint-49"]["checkpoint"]["solved"]
    kept = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    assert [1, 2, 3] == [line["line"] for line in kept[1:-1]]


def test_ctrl_c_keeps_graded_solutions(judging: Made) -> None:
    place = Path(judging().path, "met")
    pytester = judging({"checkpoint-49/s": [solution("a"), solution("b", f"meet {place}\nsay 5"), solution("c")]})
    words = [sys.executable, "-m", "pytest", *NO_XDIST, "--crmeval-run", "r"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(words, env=environment, cwd=pytester.path, stdout=subprocess.DEVNULL)
    results = Path(pytester.path, "reports/r/eval_checkpoint_49/eval_s.jsonl")
    try:
        eventually(lambda: lines_in(results) == 3, "two of three lines are judged", 60.0)
        process.send_signal(signal.SIGINT)
        eventually(lambda: Path(pytester.path, "reports/r.json").exists(), "the report is written", 60.0)
        place.touch()  # the program that runs is let go
        assert pytest.ExitCode.INTERRUPTED == process.wait(300.0)
    finally:
        process.kill()
        process.wait()

    assert 3 == lines_in(results)
    assert 1 == report_of(pytester.path)["results"][0]["not_run"]


class Together:
    """A model that answers only while a solution file is run, and lets the file continue after enough requests."""

    def __init__(self, place: Path, count: int) -> None:
        self._place = place
        self._count = count
        self._asked: set[str] = set()
        self._lock = Lock()

    def __call__(self, seen: Seen) -> Answer:
        """Wait for the file, and count."""
        wait_for(self._place.with_suffix(".here"))
        with self._lock:
            self._asked.add(seen.last_user_text)
            if len(self._asked) == self._count:
                self._place.touch()
        return crm_brain(seen)


@pytest.mark.usefixtures("given_server")
def test_file_and_conversations_in_flight_do_not_starve_each_other(
    project: Callable[..., pytest.Pytester], providers: Callable[..., Loopback]
) -> None:
    """In one process: the file starts before any conversation ends, and ends after all of them have started.

    The file is not played ahead. There are more conversations than may start before their items are reported in a run
    without files.
    """
    cases: list[dict[str, Any]] = [case(f"c{number:02d}") for number in range(20)]
    for number, record in enumerate(cases):
        record["turns"][0]["user_utterance"] = f"Add N{number} Ltd, ada@ada.example, active."
        record["turns"][0]["expected_args"]["name"] = f"N{number} Ltd"
    pytester = project(cases)
    place = Path(pytester.path, "met")
    providers(Together(place, len(cases)))
    write_lines(Path(pytester.path, "runs/checkpoint-49/s.jsonl"), solution("a", f"meet {place}\nsay 5"))
    write_lines(Path(pytester.path, "problems.jsonl"), *PROBLEMS)
    pytester.makepyfile(test_a_file=TEST, conftest=CONFTEST, test_crm=TEST_FILE)

    result = pytester.runpytest(*NO_XDIST, "--crmeval-agent", "openai:m", "--crmeval-inflight", "2")

    result.assert_outcomes(passed=21)
    result.stdout.fnmatch_lines(["crmeval queue:  2 conversations in flight per worker"])
    assert {"checkpoint-49": 1, "openai:m": 20} == {name: each["passed"] for name, each in summaries(pytester).items()}
