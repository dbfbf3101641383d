"""Real pytest runs in real processes, and what they leave on the machine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.forkserver import ForkedProcess, start

SECONDS = 300.0
"""A limit for busy machines; usually the wait is much shorter."""


def eventually(condition: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
    """Wait until ``condition`` holds; fail if it does not."""
    deadline, pause = time.monotonic() + seconds, 0.01
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(pause)
        pause = min(1.2 * pause, 0.1)  # many conditions look at all processes, which takes CPU time


def commands() -> dict[int, list[str]]:
    """Return the command line of every process of this machine that still has one."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found[int(folder.name)] = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def children(parent: int) -> list[int]:
    """Return the processes whose parent is ``parent``."""
    found = []
    for pid in commands():
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if f"\nPPid:\t{parent}\n" in status:
            found.append(pid)
    return found


def descendants(parent: int) -> set[int]:
    """Return the processes below ``parent``."""
    return {each for child in children(parent) for each in (child, *descendants(child))}


def workers_of(leader: int) -> list[int]:
    """Return the xdist workers of a pytest run that leads a process group, new processes and forked ones."""
    found = []
    for pid, command in commands().items():
        is_python = "exec(eval(sys.stdin.readline()))" in str(command) or "tests.forkserver" in command
        with suppress(ProcessLookupError):
            if pid != leader and is_python and os.getpgid(pid) == leader:
                found.append(pid)
    return sorted(found)


@dataclass
class Run:
    """A pytest run in progress, in a process group of its own, like one in a terminal."""

    process: subprocess.Popen[bytes] | ForkedProcess
    folder: Path
    homes: list[Path] = field(default_factory=list)
    postmasters: list[int] = field(default_factory=list)
    keepers: list[int] = field(default_factory=list)

    def journalled(self) -> int:
        """Count the trials in the journal."""
        return sum(path.read_text().count('{"trial"') for path in self.folder.glob("reports/*-*/trials.jsonl"))

    def workers(self) -> list[int]:
        """Return the xdist workers."""
        return workers_of(self.process.pid)

    def look_at_server(self) -> None:
        """Remember where the embedded server is, to look for remains of it."""
        for pid in children(self.process.pid):
            command = commands().get(pid, [])
            if any(word.endswith("keeper.py") for word in command):
                home = Path(
                    json.loads(command[command.index(next(w for w in command if w.endswith("keeper.py"))) + 1])["home"]
                )
                self.homes.append(home)
                self.keepers.append(pid)
                self.postmasters.append(int((home / "data/postmaster.pid").read_text().split()[0]))
        assert self.homes, "no embedded server is running"

    def interrupt(self) -> None:
        """Press Ctrl-C: the whole foreground group gets the signal."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self) -> int:
        """Wait for the end, and return the exit status."""
        return self.process.wait(2 * SECONDS)

    def output(self) -> str:
        """Return the output."""
        return (self.folder / "output.txt").read_text()

    def nothing_left(self) -> None:
        """Fail unless the server's processes, its folder and its shared memory disappear soon."""
        for home, postmaster in zip(self.homes, self.postmasters, strict=True):
            eventually(lambda home=home: not home.exists(), f"{home} is gone")  # type: ignore[misc]
            eventually(lambda home=home: not mentions(home), f"no process uses {home}")  # type: ignore[misc]
            assert not _shared_memory(postmaster)


def mentions(home: Path) -> list[list[str]]:
    """Return the commands of processes that name a folder."""
    return [command for command in commands().values() if any(str(home) in word for word in command)]


def _shared_memory(creator: int) -> list[str]:
    segments = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return [segment for segment in segments if segment.split()[4] == str(creator)]


@contextmanager
def running(
    folder: Path, *arguments: str, environment: dict[str, str] | None = None, forked: bool = False
) -> Iterator[Run]:
    """Start pytest in ``folder``, as a new process or forked; at the end, kill its process group."""
    process: subprocess.Popen[bytes] | ForkedProcess
    command = ["-m", "pytest", "-p", "no:cacheprovider", *arguments]
    variables = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
    with (folder / "output.txt").open("wb") as output:
        if forked:
            process = start(command, folder=folder, output=output, environment=variables)
        else:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=variables,
                start_new_session=True,
            )
    try:
        yield Run(process, folder)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
