"""Programs in C++ are compiled once, inside the sandbox; what is run is the binary and nothing else."""

import shutil
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from pytest_crmeval.domain.cutting import cut_end
from pytest_crmeval.domain.program import Execution, Feed, Limits
from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.local.inside.orders import BINARY, COMPILER
from pytest_crmeval.sandboxes.local.runs import Runnable, opened

Run = Callable[[Runnable, Feed, Limits], Execution]

BINARY_NAME = "main"
_FLAGS = ("-std=gnu++17", "-O2", "-DONLINE_JUDGE", "-pipe", "-o", BINARY_NAME, "main.cpp")
"""Without ONLINE_JUDGE, which contests define, programs read ``input.txt`` as at home."""
_WAYS: Sequence[Sequence[str]] = (("-static",), ())
"""A static binary starts faster; not every machine has the libraries for it."""
_COMPILING = Limits(cpu_seconds=60.0, wall_seconds=240.0, memory_bytes=2 << 30, output_bytes=256 << 20)
_RUNNING = Limits(cpu_seconds=10.0, wall_seconds=60.0, memory_bytes=256 << 20, output_bytes=1 << 16)
_NONE = "there is no g++ on this machine: install it, or use a Piston server"
_TRIAL = b'#include <cstdio>\nint main() { std::puts("compiled"); }\n'
"""Linked with the library of C++ like all others, but compiled in a tenth of the time that streams take."""
_KEPT_BYTES = 64 << 20
"""Of binaries that the next file may need, too: those of checkers, above all."""


def version() -> str:
    """Return the version of g++; nothing if there is none."""
    if (path := shutil.which("g++")) is None:
        return ""
    asked = subprocess.run([path, "-dumpfullversion"], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 (the user's own compiler)
    return asked.stdout.strip() if asked.returncode == 0 else ""


class Compiler:
    """g++, in the way that has worked in this sandbox."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._kept = _Kept()
        self._way, self.missing = self._found()

    def compile(self, source: bytes) -> Execution:
        """Compile a program, unless that was done lately; the binary is a file of the execution."""
        if (known := self._kept.get(source)) is not None:
            return known
        compiled = self._compiled(source, self._way)
        if compiled.succeeded:
            self._kept.add(source, compiled)
        return compiled

    def _found(self) -> tuple[Sequence[str], str]:
        """Compile and run something small in each way; return the first that works, or what is missing."""
        if not shutil.which("g++"):
            return (), _NONE
        said = ""
        for way in _WAYS:
            compiled = self._compiled(_TRIAL, way)
            ended = self._tried(compiled) if compiled.succeeded else compiled
            if ended.stdout == b"compiled\n":
                return way, ""
            said = cut_end(ended.stderr.decode(errors="replace"), 400) or ended.ending
        return (), f"g++ does not work in the sandbox: {said}"

    def _compiled(self, source: bytes, way: Sequence[str]) -> Execution:
        path = shutil.which("g++")
        if path is None:
            raise SandboxError(_NONE)
        with opened("main.cpp", source) as descriptor:
            command = Runnable(kind=COMPILER, descriptor=descriptor, command=(path, *way, *_FLAGS))
            return self._run(command, Feed(wanted=(BINARY_NAME,)), _COMPILING)

    def _tried(self, compiled: Execution) -> Execution:
        with opened(BINARY_NAME, compiled.files[BINARY_NAME]) as descriptor:
            return self._run(Runnable(kind=BINARY, descriptor=descriptor), Feed(), _RUNNING)


class _Kept:
    """What was compiled lately, by its source; for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[bytes, Execution] = OrderedDict()
        self._bytes = 0

    def get(self, source: bytes) -> Execution | None:
        """Return what a source was compiled to."""
        with self._lock:
            if source in self._found:
                self._found.move_to_end(source)
            return self._found.get(source)

    def add(self, source: bytes, compiled: Execution) -> None:
        """Keep it, and let go of what was used longest ago."""
        with self._lock:
            if source not in self._found:
                self._found[source] = compiled
                self._bytes += len(compiled.files[BINARY_NAME])
            while self._bytes > _KEPT_BYTES:
                _, oldest = self._found.popitem(last=False)
                self._bytes -= len(oldest.files[BINARY_NAME])
