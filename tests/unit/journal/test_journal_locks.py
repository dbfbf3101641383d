"""The lock of a run."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.journal import locks
from pytest_crmeval.journal.locks import FolderLock, Holder, LockedError, holder_of, is_held

HOLDING = """
import sys
from pathlib import Path
from pytest_crmeval.journal.locks import FolderLock

held = FolderLock.take(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""
HEIR = """
import os
from pytest_crmeval.journal.locks import FolderLock

folder, lock = FolderLock.handed_over()
assert "CRMEVAL_JOB" not in os.environ
assert FolderLock.handed_over() is None
assert not os.get_inheritable(lock.fileno())
print(folder, flush=True)
input()
"""


@contextmanager
def another_process(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Let another process hold the lock until the end of the test."""
    command = [sys.executable, "-c", HOLDING, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "held\n" == process.stdout.readline()
        yield process
        process.kill()


def test_run_that_was_not_started_has_no_process(tmp_path: Path) -> None:
    """Neither a folder without a lock, nor a missing one."""
    assert not is_held(tmp_path)
    assert holder_of(tmp_path / "nowhere") is None


def test_second_process_learns_which_process_has_the_lock(tmp_path: Path) -> None:
    with another_process(tmp_path) as process, pytest.raises(LockedError) as caught:
        FolderLock.take(tmp_path)

    said = str(caught.value)
    assert f"the run {tmp_path.name!r} is being run by process {process.pid} on {os.uname().nodename}, since 20" in said
    assert said.endswith(f"wait for it, or: crmeval stop {tmp_path.name}")


def test_holder_of_the_lock_is_visible(tmp_path: Path) -> None:
    """As long as it lives; SIGKILL ends it as well."""
    with another_process(tmp_path) as process:
        holder = holder_of(tmp_path)

        assert holder is not None
        assert (process.pid, True) == (holder.pid, holder.is_here)
    assert not is_held(tmp_path)
    assert holder_of(tmp_path) is None
    assert not holder.is_here


def test_lock_can_be_taken_after_its_holder_was_killed(tmp_path: Path) -> None:
    """Nothing has to be removed by hand."""
    with another_process(tmp_path):
        pass

    FolderLock.take(tmp_path).close()


def test_reading_a_lock_does_not_block_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading takes the lock for a moment, so taking it is tried again."""
    looking = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr("time.sleep", lambda _: os.close(looking))

    lock = FolderLock.take(tmp_path)

    assert is_held(tmp_path)
    lock.close()


def test_lock_is_handed_over_to_another_program(tmp_path: Path) -> None:
    lock = FolderLock.take(tmp_path)
    environment = {**os.environ, **lock.environment(tmp_path)}
    heir = subprocess.Popen(
        [sys.executable, "-c", HEIR],
        env=environment,
        pass_fds=[lock.fileno()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    lock.sign(Holder.of(heir.pid))
    lock.close()
    with heir:
        assert heir.stdout is not None
        held = is_held(tmp_path)
        assert f"{tmp_path}\n" == heir.stdout.readline()
        holder = holder_of(tmp_path)
        heir.communicate("go\n")

    assert held
    assert holder is not None
    assert heir.pid == holder.pid
    assert 0 == heir.returncode
    assert not is_held(tmp_path)


@pytest.mark.parametrize("shown", ["", "7", "x y", "999 {}", "0 {}"])
def test_invalid_lock_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str) -> None:
    (tmp_path / "lock").touch()
    monkeypatch.setenv(locks.HANDED, shown.format(tmp_path))

    assert FolderLock.handed_over() is None


def test_process_of_an_earlier_boot_is_not_identified_by_its_number() -> None:
    me = Holder.of(os.getpid())

    assert me.is_here
    assert not replace(me, birth=f"another-boot {me.birth.split()[1]}").is_here
    assert not replace(me, birth=f"{me.birth}0").is_here
    assert not replace(me, host="another").is_here


def test_dead_process_has_no_start_time() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert "" == locks.birth_of(process.pid)


@pytest.mark.parametrize("text", ["", "{", '{"pid": 1}', "[]", '{"pid": "x", "birth": "", "host": "", "since": ""}'])
def test_holder_without_a_description_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The lock counts, not the text in it."""
    monkeypatch.setattr(locks, "PATIENCE", 0.0)
    lock = FolderLock.take(tmp_path)
    (tmp_path / "lock").write_text(text, encoding="utf-8")

    assert is_held(tmp_path)
    assert holder_of(tmp_path) is None
    with pytest.raises(LockedError, match="is being run by another process"):
        FolderLock.take(tmp_path)
    lock.close()


def test_shorter_description_replaces_a_longer_one_completely(tmp_path: Path) -> None:
    """The text is one document."""
    (tmp_path / "lock").write_text("x" * 1000, encoding="utf-8")
    lock = FolderLock.take(tmp_path)
    lock.close()

    assert os.getpid() == json.loads((tmp_path / "lock").read_text(encoding="utf-8"))["pid"]
