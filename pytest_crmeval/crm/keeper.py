"""Keep one PostgreSQL server alive exactly as long as the process that asked for it.

Run as a script, in a session of its own, with nothing but the standard library. Its standard input is a pipe that
the asking process holds: when that process ends, however it ends, the pipe ends, and the server and its folder go.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

START_SECONDS = 60.0
STOP_SECONDS = 5.0
_READY_LINE = 7
_TOLD: list[str] = []
"""Filled by SIGTERM. A handler that raised could end the keeper in the middle of cleaning up."""


class Failure(Exception):  # noqa: N818 (reported to the asking process, not raised to anybody)
    """The server can't be had, and why."""


class Ended(Exception):  # noqa: N818 (the normal end of a keeper)
    """The asking process is gone."""


def main(order: dict[str, Any]) -> None:
    """Start, report, wait, stop."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _TOLD.append("SIGTERM"))
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
        _say({"ready": True})
        _until_told(server)
    except Failure as failure:
        _say({"failed": f"{failure}\n{_tail(home)}".strip()})
    except OSError as error:
        _say({"failed": str(error)})
    except Ended:
        pass
    finally:
        if server is not None:
            _stop(server)
        _remove(home)


def _initialise(order: dict[str, Any]) -> None:
    """Make the data folder, to the end: an initdb that is killed leaves a server and its shared memory behind."""
    maker = _spawn(order, order["initdb"], Path(order["home"]) / "server.log", start_new_session=True)
    try:
        maker.wait(START_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(maker.pid, signal.SIGKILL)
        maker.wait()
    if maker.returncode:
        raise Failure(f"initdb ended with status {maker.returncode}")


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
    while not _ready(home / "data" / "postmaster.pid"):
        if server.poll() is not None:
            raise Failure(f"the server ended with status {server.returncode} before it was ready")
        if time.monotonic() > deadline:
            raise Failure(f"the server was not ready after {START_SECONDS:.0f} s")
        _listen(0.01)


def _ready(status: Path) -> bool:
    try:
        lines = status.read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > _READY_LINE and lines[_READY_LINE].strip() == "ready"


def _until_told(server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        _listen(0.2)


def _listen(seconds: float) -> None:
    """Wait, but not longer than the asking process lives."""
    heard, _, _ = select.select([sys.stdin], [], [], seconds)
    if _TOLD or (heard and not os.read(sys.stdin.fileno(), 1)):
        raise Ended


def _stop(server: subprocess.Popen[bytes]) -> None:
    """Stop at once: nothing of this server is wanted any more, but it has to remove its shared memory."""
    for number in (signal.SIGQUIT, signal.SIGKILL):
        if server.poll() is None:
            server.send_signal(number)
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        return


def _remove(home: Path) -> None:
    """Remove the folder; what is still being written by somebody who is ending gets a little time."""
    for _ in range(20):
        shutil.rmtree(home, ignore_errors=True)
        if not home.exists():
            return
        time.sleep(0.1)


def _say(message: dict[str, Any]) -> None:
    """Tell the asking process; if it is gone, the end of the pipe says the rest."""
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tail(home: Path) -> str:
    log = home / "server.log"
    return "\n".join(log.read_text(errors="replace").splitlines()[-8:]) if log.exists() else ""


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
