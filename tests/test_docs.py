"""What the documentation shows is true: its examples are run."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_crmeval import cli
from pytest_crmeval.report.gate import Gate
from tests.fakes import trial
from tests.kept_runs import keep, part

ROOT = Path(__file__).parents[1]


def blocks(page: str, language: str) -> list[str]:
    """Return the examples of a page that are written in a language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)


def convert(dialogue: str) -> str:
    """Return what the script of the page makes of a dialogue."""
    (script,) = blocks("converting-transcripts.md", "python")
    command = [sys.executable, "-c", script]
    return subprocess.run(command, input=dialogue, capture_output=True, text=True, check=True, encoding="utf-8").stdout


@pytest.fixture
def converted(tmp_path: Path) -> Path:
    """Convert the dialogue of the page with the script of the page."""
    (dialogue,) = blocks("converting-transcripts.md", "json")
    (tmp_path / "mine.jsonl").write_text(convert(dialogue), encoding="utf-8")
    return tmp_path / "mine.jsonl"


def test_a_refusal_stays_a_refusal() -> None:
    """Also after a look that was none."""
    (dialogue,) = blocks("converting-transcripts.md", "json")
    record = json.loads(dialogue)
    find = {"name": "find_account", "arguments": {"query": "Harbor"}}
    refused = {"name": "update_deal", "arguments": {"deal": 5, "value": 99_000_000}, "error": "too much"}
    record["exchanges"] = [{"user": "Make it 99 million.", "calls": [find, refused]}]
    (turn,) = json.loads(convert(json.dumps(record)))["turns"]

    assert ("modify_opportunity", False) == (turn["expected_tool"], turn["expect_success"])


def test_a_converted_transcript_is_clean(converted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is invalid in it, and nothing odd."""
    assert 0 == cli.main(["lint", str(converted)])
    assert "0  invalid conversations" in capsys.readouterr().out


def test_a_converted_transcript_can_be_believed(converted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The oracle passes it, mute and parrot don't, and flaws are caught."""
    status = cli.main(["calibrate", str(converted), "--tries", "20"])

    assert 0 == status, capsys.readouterr().out


@pytest.fixture
def by_hand(tmp_path: Path) -> Path:
    """Write the conversation of the page on one line, as it says."""
    *_, case = blocks("writing-cases.md", "json")
    (tmp_path / "mine.jsonl").write_text(" ".join(case.split("\n")) + "\n", encoding="utf-8")
    return tmp_path / "mine.jsonl"


def test_a_conversation_by_hand_is_clean_and_can_be_believed(by_hand: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the page says."""
    assert 0 == cli.main(["lint", str(by_hand)]), capsys.readouterr().out
    assert 0 == cli.main(["calibrate", str(by_hand), "--tries", "20"]), capsys.readouterr().out


def test_figures_are_those_of_the_bundled_suite() -> None:
    """README and the page on calibration tell of as many cases as there are."""
    count = len((ROOT / "evals" / "data" / "crm.jsonl").read_bytes().splitlines())

    assert f"{count:,} of {count:,}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"`evals/data/crm.jsonl`, {count:,} cases" in (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")


def test_a_command_that_asks_another_file_asks_it_once() -> None:
    """Each marked test would ask the whole file: so the command names a suite, of which there is one test."""
    commands = [line for block in blocks("questions.md", "sh") for line in block.splitlines()]
    asking = [line.split() for line in commands if "--crmeval-questions" in line]
    suites = [words[words.index("--crmeval-suite") + 1] for words in asking]
    tests = (ROOT / "evals" / "test_questions.py").read_text(encoding="utf-8")

    assert suites
    assert [1] * len(suites) == [tests.count(f'suite="{suite}"') for suite in suites]


def test_the_last_job_of_the_matrix_merges_what_the_others_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each artifact has a folder with the journal of a shard, and its report."""
    monkeypatch.chdir(tmp_path)
    for index in (1, 2, 3, 4):
        run = f"shard-{index}"
        keep(tmp_path / "artifacts" / run, run, [trial(f"case-{index}")], parts=[part(f"{index}/4")])
    (job,) = blocks("shards.md", "yaml")
    (command,) = re.findall(r"- run: crmeval (merge .*)", job)
    words = [
        str(found) for word in command.split() for found in (sorted(tmp_path.glob(word)) if "*" in word else [word])
    ]

    assert 0 == cli.main(words), capsys.readouterr()
    assert 4 == json.loads(Path("reports/whole.json").read_text())["results"][0]["passed"]


@pytest.mark.parametrize("page", ["shards.md", "ci.md"])
def test_the_options_of_a_workflow_are_ours(page: str) -> None:
    """Whoever copies it is not told that there is no such option."""
    (job,) = blocks(page, "yaml")
    declared = (ROOT / "pytest_crmeval" / "options" / "declared.py").read_text()

    assert set(re.findall(r"--crmeval-[a-z]+", job)) <= set(re.findall(r"--crmeval-[a-z]+", declared))


def test_the_name_of_the_run_is_what_the_last_job_of_the_matrix_looks_for() -> None:
    """Otherwise nothing would be merged."""
    (job,) = blocks("shards.md", "yaml")

    assert "RUN: shard-${{ matrix.shard }}" in job


def test_the_gates_of_the_pages_can_be_read() -> None:
    """Each in the table, in a command or in settings."""
    pages = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/gates.md", "docs/ci.md"))
    quoted = re.findall(r"[`'\"]([a-z]+(?:\[[^\]]+\])?\.[a-z_@^0-9]+ (?:[<>=]|not worse)[^`'\"]*)[`'\"]", pages)

    assert 15 <= len([Gate.parse(text) for text in quoted])


def test_the_nightly_job_posts_what_a_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The night before is in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    keep(tmp_path / "before", "nightly", [trial("one")])
    keep(tmp_path / "reports", "nightly", [trial("one")])
    (job,) = blocks("ci.md", "yaml")
    (command,) = re.findall(r"crmeval (compare .*) > comparison.md", job)

    assert 0 == cli.main(command.split()), capsys.readouterr()
    assert capsys.readouterr().out.startswith("### nightly against nightly\n")


@pytest.mark.parametrize(("result", "status"), [("success", 0), ("failure", 1), ("cancelled", 1)])
def test_the_last_job_of_the_matrix_is_red_if_a_shard_is(result: str, status: int) -> None:
    """A test that evaluates nothing is in no journal."""
    (job,) = blocks("shards.md", "yaml")
    _, _, after = job.partition("- run: crmeval merge")
    (command,) = re.findall(r"- run: (.*)", after)

    told = subprocess.run(["/bin/sh", "-c", command.replace("${{ needs.shard.result }}", result)], check=False)

    assert status == told.returncode
