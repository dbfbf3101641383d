"""Programs in C++ are compiled once, inside the sandbox; what is run is the binary and nothing else."""

import shutil
import subprocess
from collections.abc import Callable, Sequence

from pytest_crmeval.domain.program import Execution, Feed, Limits
from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.local.inside.orders import BINARY, COMPILER
from pytest_crmeval.sandboxes.local.runs import Runnable, opened

Run = Callable[[Runnable, Feed, Limits], Execution]

BINARY_NAME = "main"
_FLAGS = ("-std=gnu++17", "-O2", "-pipe", "-o", BINARY_NAME, "main.cpp")
_WAYS: Sequence[Sequence[str]] = (("-static",), ())
"""A static binary starts faster; not every machine has the libraries for it."""
_COMPILING = Limits(cpu_seconds=60.0, wall_seconds=240.0, memory_bytes=2 << 30, output_bytes=256 << 20)
_RUNNING = Limits(cpu_seconds=10.0, wall_seconds=60.0, memory_bytes=256 << 20, output_bytes=1 << 16)
_NONE = "there is no g++ on this machine: install it, or use a Piston server"
_TRIAL = b'#include <iostream>\nint main() { std::cout << "compiled" << std::endl; }\n'


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
        self._way, self.missing = self._found()

    def compile(self, source: bytes) -> Execution:
        """Compile a program; the binary is a file of the execution."""
        return self._compiled(source, self._way)

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
            said = ended.stderr.decode(errors="replace")[-400:] or ended.ending
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
