"""Keeps one PostgreSQL server alive exactly as long as the process that asked for it.

Runs as a script in its own session, with the standard library only. Its standard input is a pipe from the asking
process: when that process ends, however it ends, the pipe closes, and the keeper removes the server and its folder.

If the keeper itself is killed, the asking process removes the server when it ends; if both are killed, the next run
does. They use ``clear_away`` and ``sweep`` from this module.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

START_SECONDS = 60.0
STOP_SECONDS = 5.0
_READY_LINE = 7
PREFIX = "crmeval-"
"""Prefix of the folder names of our servers."""
_LOCK = "lock"
_SEGMENT_LINE = 6
"""The line of postmaster.pid with the key and id of the server's shared memory."""
_IPC_RMID = 0
_SIGNALS: list[str] = []
"""Filled by SIGTERM. A handler that raises could end the keeper in the middle of cleaning up."""


class StartError(Exception):
    """The server can't be started; the message has the reason."""


class Ended(Exception):  # noqa: N818 (the normal end of a keeper)
    """The asking process has ended."""


def main(order: dict[str, Any]) -> None:
    """Start, report, wait, stop."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _SIGNALS.append("SIGTERM"))
    home = Path(order["home"])
    server: subprocess.Popen[bytes] | None = None
    try:
        for source, target in order["copies"]:
            shutil.copytree(source, target, symlinks=True)
        if order["user"]:
            os.chown(home, order["user"], order["group"])
        _initialise(order)
        _listen(0)
        server = _spawn(order, order["postgres"], home / "server.log")
        _until_ready(server, home)
        _report({"ready": True})
        while server.poll() is None:
            _listen(0.2)
    except StartError as failure:
        log = home / "server.log"
        last = log.read_text(errors="replace").splitlines()[-8:] if log.exists() else []
        _report({"failed": "\n".join([str(failure), *last]).strip()})
    except OSError as error:
        _report({"failed": str(error)})
    except Ended:
        pass
    finally:
        if server is not None:
            _stop(server)
        clear_away(home)


def _initialise(order: dict[str, Any]) -> None:
    """Create the data folder, and wait for its end: a killed initdb leaves a server and its shared memory behind."""
    maker = _spawn(order, order["initdb"], Path(order["home"]) / "server.log", start_new_session=True)
    try:
        maker.wait(START_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(maker.pid, signal.SIGKILL)
        maker.wait()
    if maker.returncode:
        raise StartError(f"initdb ended with status {maker.returncode}")


def _spawn(
    order: dict[str, Any], command: list[str], log: Path, *, start_new_session: bool = False
) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    user: dict[str, Any] = {}
    if order["user"]:
        user = {"user": order["user"], "group": order["group"], "extra_groups": []}
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 (the asking process is our own)
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**environment, "LC_ALL": "C", "TZ": "UTC"},
            cwd="/",
            start_new_session=start_new_session,
            **user,
        )


def _until_ready(server: subprocess.Popen[bytes], home: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        with suppress(FileNotFoundError):
            lines = (home / "data" / "postmaster.pid").read_text().splitlines()
            if len(lines) > _READY_LINE and lines[_READY_LINE].strip() == "ready":
                return
        if server.poll() is not None:
            raise StartError(f"the server ended with status {server.returncode} before it was ready")
        if time.monotonic() > deadline:
            raise StartError(f"the server was not ready after {START_SECONDS:.0f} s")
        _listen(0.01)


def _listen(seconds: float) -> None:
    """Wait; Ended if the asking process ends or SIGTERM arrives."""
    readable, _, _ = select.select([sys.stdin], [], [], seconds)
    if _SIGNALS or (readable and not os.read(sys.stdin.fileno(), 1)):
        raise Ended


def _stop(server: subprocess.Popen[bytes]) -> None:
    """Stop the server at once; it has to remove its shared memory."""
    for number in (signal.SIGQUIT, signal.SIGKILL):
        if server.poll() is None:
            server.send_signal(number)
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        return


def lock_home(home: Path) -> IO[bytes]:
    """Return a lock that marks ``home`` as in use as long as any process has it open.

    The file gets its name after it is locked, so a lock file that can be locked belonged to a process that has ended.
    """
    lock = (home / f"{_LOCK}.new").open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    Path(lock.name).rename(home / _LOCK)
    return lock


def sweep(places: Iterable[Path], owners: Collection[int]) -> None:
    """Remove the servers of ``owners`` in ``places`` whose lock is not held by any process."""
    for home in (home for place in places for home in place.glob(f"{PREFIX}*")):
        with suppress(OSError):  # another process holds the lock, or has removed the folder
            if home.is_symlink() or home.stat().st_uid not in owners:
                continue
            with (home / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                clear_away(home)


def clear_away(home: Path) -> None:
    """Stop the server in ``home``, and remove its shared memory and its folder, if they exist."""
    if home.exists():
        _end_processes(home)
        _remove_segment(home)
        for _ in range(20):  # a process that is ending may still write to it
            shutil.rmtree(home, ignore_errors=True)
            if not home.exists():
                return
            time.sleep(0.1)


def is_running(home: Path) -> bool:
    """Whether a server or initdb is running in ``home``."""
    return any(_processes(home))


def _end_processes(home: Path) -> None:
    """Stop the server at once; wait for an initdb, which would leave a server behind if it was killed.

    An initdb that does not end, for example because it is stopped, is killed after all.
    """
    patience = time.monotonic() + START_SECONDS
    for number in (signal.SIGQUIT, signal.SIGKILL):
        deadline = time.monotonic() + STOP_SECONDS
        while found := dict(_processes(home)):
            hangs = time.monotonic() > patience
            servers = [pid for pid, program in found.items() if hangs or program != "initdb"]
            for pid in servers:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            if servers and time.monotonic() > deadline:  # after the signal: on a busy machine each look takes long
                break
            time.sleep(0.02)


def _processes(home: Path) -> Iterator[tuple[int, str]]:
    """Yield id and program of the processes that were started for the data of ``home``, by their option -D."""
    for pid, command in _commands():
        if ("-D", str(home / "data")) in pairwise(command):
            yield pid, Path(command[0]).name


def _commands() -> Iterator[tuple[int, list[str]]]:
    if not Path("/proc/self/cmdline").exists():  # macOS; our paths contain no spaces
        listed = subprocess.run(["/bin/ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True, check=True)
        yield from ((int(pid), command) for pid, *command in map(str.split, listed.stdout.splitlines()) if command)
        return
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            yield int(folder.name), (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")


def _remove_segment(home: Path) -> None:
    """Remove the System V shared memory of a killed server, which outlives its processes."""
    try:
        key, segment = map(int, (home / "data" / "postmaster.pid").read_text().splitlines()[_SEGMENT_LINE].split())
    except (OSError, IndexError, ValueError):  # the server was shut down properly, or never started
        return
    import ctypes  # rarely needed

    system = ctypes.CDLL(None)
    if (
        system.shmget(ctypes.c_int(key), ctypes.c_size_t(0), 0) == segment
    ):  # otherwise the id belongs to another segment
        system.shmctl(segment, _IPC_RMID, None)


def _report(message: dict[str, Any]) -> None:
    """Send a message to the asking process; if that has ended, the closed pipe ends the keeper."""
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
