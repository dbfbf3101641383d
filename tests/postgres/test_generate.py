"""``crmeval generate``: the command, on a real server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_crmeval import cli
from pytest_crmeval.conversations import generator
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord

pytestmark = pytest.mark.usefixtures("given_server")


def test_same_seed_gives_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also if the file exists with the same content. Another seed gives other conversations."""
    mine, other = tmp_path / "mine.jsonl", tmp_path / "other.jsonl"

    assert 0 == cli.main(["generate", "--seed", "7", "--count", "6", "-o", str(mine)])
    assert capsys.readouterr().out.startswith("6 conversations, ")
    before = mine.read_bytes()
    assert 0 == cli.main(["generate", "--seed", "7", "--count", "6", "-o", str(mine)])
    assert 0 == cli.main(["generate", "--seed", "8", "--count", "6", "-o", str(other)])

    assert before == mine.read_bytes()
    assert before != other.read_bytes()
    assert [] == list(tmp_path.glob("*.part"))


def test_hard_conversations_are_the_same_for_a_seed(tmp_path: Path) -> None:
    """They are played before they are written, like the others."""
    files = [tmp_path / name for name in ("one.jsonl", "again.jsonl", "other.jsonl")]
    for file, seed in zip(files, ("5", "5", "6"), strict=True):
        assert 0 == cli.main(["generate", "--level", "hard", "--seed", seed, "--count", "5", "-o", str(file)])

    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()
    assert all("hard" in json.loads(line)["tags"] for line in files[2].read_text(encoding="utf-8").splitlines())


def test_existing_file_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text("written by hand", encoding="utf-8")

    assert 2 == cli.main(["generate", "--count", "2", "-o", str(mine)])
    assert f"crmeval: {mine} already exists with different content; --force replaces it\n" == capsys.readouterr().err
    assert "written by hand" == mine.read_text(encoding="utf-8")
    assert 0 == cli.main(["generate", "--count", "2", "-o", str(mine), "--force"])
    assert 2 == len(mine.read_text(encoding="utf-8").splitlines())


def test_conversations_can_be_written_to_a_pipe(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Only the lines, without messages."""
    cli.main(["generate", "--count", "3", "-o", "-"])

    shown = capfdbinary.readouterr()
    assert 3 == len([json.loads(line) for line in shown.out.splitlines()])
    assert b"3 conversations" in shown.err


def test_missing_folder_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main(["generate", "-o", str(tmp_path / "nowhere" / "mine.jsonl")])
    assert f"crmeval: {tmp_path / 'nowhere'} is not a folder; create it first\n" == capsys.readouterr().err
    assert 2 == cli.main(["generate", "--count", "1", "-o", str(tmp_path)])
    assert f"crmeval: {tmp_path} is not a regular file; use - for standard output\n" == capsys.readouterr().err


def test_link_is_followed_and_special_files_are_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    os.mkfifo(tmp_path / "pipe")

    assert 0 == cli.main(["generate", "--count", "1", "-o", str(tmp_path / "link.jsonl")])
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real.jsonl").is_file()
    capsys.readouterr()
    assert 2 == cli.main(["generate", "--count", "1", "--force", "-o", str(tmp_path / "pipe")])
    assert "is not a regular file" in capsys.readouterr().err
    assert (tmp_path / "pipe").is_fifo()


def test_ascii_terminal_gets_the_same_bytes(tmp_path: Path) -> None:
    """Names come from many languages."""
    program = [sys.executable, "-m", "pytest_crmeval.cli", "generate", "--count", "3", "-o", "-"]
    poor = {**os.environ, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    cli.main(["generate", "--count", "3", "-o", str(tmp_path / "mine.jsonl")])

    assert (tmp_path / "mine.jsonl").read_bytes() == subprocess.run(
        program, capture_output=True, check=True, env=poor
    ).stdout


def test_full_disk_is_reported_in_one_line(tmp_path: Path) -> None:
    """The kernel refuses the temporary file, and no file remains."""
    program = (
        "import resource, sys; from pytest_crmeval.cli import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)); sys.exit(main(sys.argv[1:]))"
    )
    limited = [sys.executable, "-c", program, "generate", "--count", "60", "-o", str(tmp_path / "mine.jsonl")]
    done = subprocess.run(limited, capture_output=True, check=False, text=True)

    assert (2, True) == (done.returncode, done.stderr.endswith(": File too large\n")), done.stderr
    assert 1 == len(done.stderr.splitlines())
    assert [] == list(tmp_path.iterdir())


def test_conversations_that_cannot_be_played_are_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(seed: int, count: int) -> Iterator[ConversationRecord]:
        del seed, count
        for name, expected in (("sound", "list_clients"), ("broken", "list_unicorns")):
            turn = TurnRecord(turn_id=1, user_utterance="Who are our clients?", expected_tool=expected)
            yield ConversationRecord(conversation_id=name, turns=[turn])

    monkeypatch.setattr(generator, "generate", faulty)

    assert 1 == cli.main(["generate", "--count", "2", "-o", str(tmp_path / "mine.jsonl")])
    shown = capsys.readouterr().err
    assert "broken: turn 1:" in shown
    assert "sound" not in shown
    assert [] == list(tmp_path.iterdir())
