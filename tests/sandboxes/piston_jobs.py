"""The part of our Piston server that runs programs: in plain processes, so only those that tests have written."""

import atexit
import base64
import binascii
import math
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from pytest_crmeval.sandboxes.signals import name_of

PIPE = 219_264
"""Bytes of stdin after which the real server ends the pipe."""
_KEEPER = "Sandbox keeper received fatal signal 6\n"
_SAID: Mapping[int, str] = {signal.SIGSEGV: "Segmentation fault", signal.SIGKILL: "Killed", signal.SIGABRT: "Aborted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a server is started with."""

    output_max_size: int = 1 << 20
    body_limit: int = 1 << 26
    maxima: Mapping[str, int] | None = None
    """Limits by their names in the API; those that are not named have none."""
    defaults: Mapping[str, int] | None = None
    old: bool = False
    """Whether it is of the time before there was a status."""
    base64: bool = True
    """Whether it knows files that are no text."""
    cpp_version: str = "12.2.0"
    python_version: str = "3.11.2"
    languages: Sequence[str] = ("c", "c++", "python")


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """How a job ended, and what it took."""

    code: int
    """Below 0 for a signal."""
    cpu: float
    """Milliseconds."""
    memory: int
    late: bool
    """Whether it was ended for the wall clock."""
    spent: bool
    """Whether it was ended for its CPU time."""


class EscapeError(Exception):
    """A file would lie outside of its folder."""


class _Pump(threading.Thread):
    """Reads one output to its end, and kills the job when there is too much of it."""

    def __init__(self, source: IO[bytes], most: int, group: int) -> None:
        super().__init__(daemon=True)
        self._source, self._most, self._group = source, most, group
        self.kept = b""
        self.over = False
        self.start()

    def run(self) -> None:
        """Read."""
        while chunk := os.read(self._source.fileno(), 65536):
            if len(self.kept) + len(chunk) > self._most:
                self.over = True
                kill(self._group)
            elif not self.over:
                self.kept += chunk


def kill(group: int) -> None:
    """Kill a job with all that it has started."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def execute(asked: Mapping[str, Any], language: str, settings: Settings) -> dict[str, Any]:
    """Do what was asked for, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "submission")
        place.mkdir()
        sources = _written(asked["files"], place, settings)
        answer: dict[str, Any] = {}
        if language in {"python", "pypy"}:
            command = [f"{_python()}/bin/python", sources[0]]
        elif language not in {"c", "c++"}:
            command = ["bash", "-c", _ADDS]
        else:
            compiled = _stage(_compiler(language), "", asked, "compile", place, settings)
            answer["compile"] = compiled
            command = ["./a.out"]
        if answer and answer["compile"]["code"] != 0:
            answer["run"] = dict(answer["compile"])
        else:
            stdin = asked.get("stdin") or ""
            fed = stdin if stdin.endswith("\n") else f"{stdin}\n"
            command += [str(argument) for argument in asked.get("args", [])]
            answer["run"] = _stage(command, fed, asked, "run", place, settings)
        return answer


_ADDS = "read a b; echo $((a + b))"
"""What programs do whose languages are not on this machine, whatever their text is."""


@cache
def _python() -> str:
    """Make a Python that has no packages, as servers have it: those of a machine may be slow to start with."""
    folder = tempfile.mkdtemp(prefix="piston-python-")
    atexit.register(shutil.rmtree, folder)
    venv.create(folder, symlinks=True)
    return folder


def _compiler(language: str) -> list[str]:
    name = "gcc *.c -lm" if language == "c" else "g++ -std=c++17 *.cpp"
    return ["bash", "-c", f"{name}; chmod +x a.out"]


def _written(files: Sequence[Mapping[str, Any]], place: Path, settings: Settings) -> list[str]:
    """Write the files; return the names of those that are sources, the main one first."""
    sources = []
    for number, file in enumerate(files):
        name = file.get("name") or f"file{number}.code"
        path = (place / name).resolve()
        if not path.is_relative_to(place.resolve()):
            raise EscapeError(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        encoded = file.get("encoding") == "base64" and settings.base64
        path.write_bytes(_decoded(file["content"]) if encoded else file["content"].encode())
        if not encoded:
            sources.append(name)
    return sources


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""


def _stage(  # noqa: PLR0913, PLR0917
    command: Sequence[str], stdin: str, asked: Mapping[str, Any], stage: str, place: Path, settings: Settings
) -> dict[str, Any]:
    limits = {**(settings.defaults or {}), **asked}
    wall = limits.get(f"{stage}_timeout") or 3_600_000
    most_cpu = 0 if settings.old else limits.get(f"{stage}_cpu_time")
    bounds = _bounds(limits.get(f"{stage}_memory_limit"))
    job = subprocess.Popen(
        ["/bin/bash", "-c", f'{bounds} exec "$@"', "bash", *command],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "PISTON_LANGUAGE": "x", "LC_CTYPE": "C.UTF-8"},  # noqa: S108
        start_new_session=True,
        bufsize=0,
    )
    assert job.stdin is not None
    assert job.stdout is not None
    assert job.stderr is not None
    out = _Pump(job.stdout, settings.output_max_size, job.pid)
    err = _Pump(job.stderr, settings.output_max_size, job.pid)
    threading.Thread(target=_fed, args=(job.stdin, stdin.encode()[:PIPE]), daemon=True).start()
    start = time.monotonic()
    end = _waited(job, start + wall / 1000, most_cpu or math.inf)
    kill(job.pid)
    out.join()
    err.join()
    job.stdout.close()
    job.stderr.close()
    shown = _ended(end, out, err)
    shown["wall_time"] = round((time.monotonic() - start) * 1000)
    shown["cpu_time"] = round(end.cpu)
    shown["memory"] = end.memory
    return _old(shown) if settings.old else shown


def _bounds(memory: float | None) -> str:
    """Write limits for a shell, which knows KiB."""
    shown = "ulimit -c 0;"
    if memory and memory > 0:
        shown += f" ulimit -v {int(memory // 1000)};"
    return shown


def _fed(pipe: IO[bytes], content: bytes) -> None:
    try:
        while content:
            content = content[os.write(pipe.fileno(), content) :]
    except BrokenPipeError:  # the program does not want to read it
        return
    finally:
        pipe.close()


def _waited(job: "subprocess.Popen[bytes]", deadline: float, most_cpu: float) -> _End:
    """Wait for the end of a job, or end it when its time is over."""
    memory, cpu = 0, 0.0
    late = spent = False
    ending = os.pidfd_open(job.pid)
    while True:
        memory = max(memory, _memory(job.pid))
        cpu = max(cpu, _cpu(job.pid))
        found, status, usage = os.wait4(job.pid, os.WNOHANG)
        if found:
            break
        late = late or time.monotonic() > deadline
        spent = spent or cpu > most_cpu
        if late or spent:
            kill(job.pid)
        select.select([ending], [], [], 0.005)
    os.close(ending)
    job.returncode = os.waitstatus_to_exitcode(status)
    used = (usage.ru_utime + usage.ru_stime) * 1000
    return _End(code=job.returncode, cpu=max(cpu, used), memory=memory, late=late, spent=spent)


def _cpu(pid: int) -> float:
    """Look up the milliseconds of a process that is not waited for yet, and of those that it has started."""
    try:
        own = time.clock_gettime(~pid << 3 | 2) * 1000
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:  # it has ended meanwhile
        return 0.0
    return own + sum(_cpu(int(child)) for child in children)


def _memory(pid: int) -> int:
    """Read it while the program runs: the value at the end includes our own memory before the start."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1000
    return 0


def _ended(end: _End, out: _Pump, err: _Pump) -> dict[str, Any]:
    code = end.code
    stdout, stderr = out.kept.decode("utf-8", "replace"), err.kept.decode("utf-8", "replace")
    killed = {"signal": "SIGKILL", "code": None}
    if out.over:
        return _told("", stderr + _KEEPER, "OL", "stdout length exceeded", killed)
    if err.over:
        return _told(stdout, "", "EL", "stderr length exceeded", killed)
    if end.late:
        return _told(stdout, stderr, "TO", "Time limit exceeded (wall clock)", killed)
    if end.spent:
        return _told(stdout, stderr, "TO", "Time limit exceeded", killed)
    if code < 0:  # a shell reports it, and exits with a code
        said = _SAID.get(-code, name_of(-code))
        stderr += f"/srv/packages/run: line 2:     3 {said:<23} program\n"
        code = 128 - code
    ended = {"signal": None, "code": code}
    if code:
        return _told(stdout, stderr, "RE", f"Exited with error status {code}", ended)
    return _told(stdout, stderr, None, None, ended)


def _told(
    stdout: str, stderr: str, status: str | None, message: str | None, ended: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        **ended,
        "stdout": stdout,
        "stderr": stderr,
        "output": stderr + stdout,
        "status": status,
        "message": message,
    }


def _old(shown: Mapping[str, Any]) -> dict[str, Any]:
    return {name: shown[name] for name in ("stdout", "stderr", "output", "code", "signal")}
