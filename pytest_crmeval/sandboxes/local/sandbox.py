"""The local sandbox: it needs nothing installed, and isolates as strongly as this machine allows."""

import os
import platform
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pytest_crmeval.ports.sandbox import Execution, Language, Limits, Prepared, Program, ProgramInput, SandboxError
from pytest_crmeval.sandboxes.local import slots
from pytest_crmeval.sandboxes.local.compiling import Compiler, encoded
from pytest_crmeval.sandboxes.local.fork_servers import ForkServerProcess
from pytest_crmeval.sandboxes.local.inside.messages import PYTHON, SECCOMP
from pytest_crmeval.sandboxes.local.machine import interpreter, isolation_request
from pytest_crmeval.sandboxes.local.pool import ForkServerPool
from pytest_crmeval.sandboxes.local.probing import AUTO, FoundLevel, strongest
from pytest_crmeval.sandboxes.local.runs import Runnable, opened
from pytest_crmeval.sandboxes.local.toolchains import identity, python_is_too_old

_NO_FILES = (
    "programs can't write {} here: this machine supports only the level seccomp of the local sandbox, at which programs"
    " can't write files. Use a Piston server (--crmeval-sandbox http://localhost:2000)"
)
_LEAST_MEMORY = 20 << 20
"""A process has about 9 MB before it becomes the program; no program could stay below a smaller limit."""
_FORMAT = 3
"""Incremented with every change that could change a verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refused:
    """A program that the compiler did not take."""

    refused: Execution

    def run(self, _feed: ProgramInput, _limits: Limits) -> Execution:
        """Nothing can be run."""
        raise SandboxError("a program that was not compiled can't be run")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A program that is open, for as many runs as there are tests."""

    runnable: Runnable
    pool: ForkServerPool
    writes: bool
    """Whether a program can write files at this level at all."""
    refused: None = None

    def run(self, feed: ProgramInput, limits: Limits) -> Execution:
        """Run once."""
        if feed.wanted and not self.writes:
            raise SandboxError(_NO_FILES.format(", ".join(feed.wanted)))
        if limits.memory_bytes < _LEAST_MEMORY:
            limits = replace(limits, memory_bytes=_LEAST_MEMORY)
        return self.pool.run(self.runnable, feed, limits)


class LocalSandbox:
    """Runs programs on this machine, isolated; the first use finds out how strongly that is possible."""

    def __init__(
        self,
        level: str = AUTO,
        workers: int | None = None,
        *,
        unsafe: bool = False,
        packages: Sequence[str] = (),
        hidden: Sequence[str] = (),
    ) -> None:
        if sys.platform != "linux":
            raise SandboxError(
                f"the local sandbox needs Linux, and this is {platform.system()}: use a Piston server"
                " (--crmeval-sandbox http://localhost:2000)"
            )
        self._level = level
        self._workers = workers
        self._unsafe = unsafe
        self._packages = [os.path.realpath(package) for package in packages]
        # Where we work is hidden, too: the answers are there, and a project may lie in /usr/src.
        self._hidden = [str(Path.cwd()), *hidden]
        self._lock = threading.RLock()
        self._closed = False
        self._open: tuple[FoundLevel, ForkServerPool] | None = None
        self._compiler: Compiler | None = None
        self._notes: dict[str, None] = {}

    @property
    def name(self) -> str:
        """Which level, and why it is no stronger one."""
        return self._opened()[0].shown()

    @property
    def identity(self) -> str:
        """Level, languages, and the packages that programs may import."""
        languages = ", ".join([f"python {platform.python_version()} {interpreter()}", *identity()])
        packages = f", packages in {', '.join(self._packages)}" if self._packages else ""
        return f"local/{_FORMAT} {self.level}, {languages}{packages}"

    @property
    def level(self) -> str:
        """How strongly programs are isolated."""
        return self._opened()[0].level

    @property
    def notes(self) -> Sequence[str]:
        """What a reader of verdicts should know: languages that solutions are in, and that can't be run here."""
        with self._lock:
            return tuple(self._notes)

    @property
    def slots(self) -> int:
        """A core for each run, unless fewer are wanted."""
        return self._workers or len(slots.cores())

    def missing(self, language: Language, version: str = "") -> str:
        """Return why there is no compiler; the interpreter is our own."""
        is_ours = language is Language.PYTHON
        reason = python_is_too_old(version) if is_ours else self._compilers().missing(language, version)
        if reason:
            with self._lock:
                self._notes[f"unsupported: {reason}"] = None
        return reason

    @contextmanager
    def prepared(self, program: Program) -> Iterator[Prepared]:
        """Make a program ready for its runs."""
        found_level, pool = self._opened()
        writes = found_level.level != SECCOMP
        if reason := self.missing(program.language, program.version):
            raise SandboxError(reason)
        if program.language is Language.PYTHON:
            with opened("main.py", encoded(program)) as descriptor:
                yield _Ready(runnable=Runnable(kind=PYTHON, descriptor=descriptor), pool=pool, writes=writes)
            return
        compiler = self._compilers()
        compiled = compiler.compile(program)
        if compiled is not None and not compiled.succeeded:
            yield _Refused(refused=compiled)
            return
        with opened("main", compiler.content(program, compiled)) as descriptor:
            yield _Ready(runnable=compiler.runnable(program, compiled, descriptor), pool=pool, writes=writes)

    def close(self) -> None:
        """End all fork servers; a sandbox that was never used has none."""
        with self._lock:
            self._closed = True
            if self._open:
                self._open[1].close()

    def _opened(self) -> tuple[FoundLevel, ForkServerPool]:
        with self._lock:
            if self._open is None:
                if self._closed:
                    raise SandboxError("the sandbox is closed")
                found_level, first = strongest(self._level, self._started, unsafe=self._unsafe)
                self._open = found_level, ForkServerPool(partial(self._started, found_level.level), first, self.slots)
            return self._open

    def _started(self, level: str) -> ForkServerProcess:
        return ForkServerProcess(isolation_request(level, self._packages, self._hidden))

    def _compilers(self) -> Compiler:
        with self._lock:
            if self._compiler is None:
                self._compiler = Compiler(self._opened()[1].run)
            return self._compiler
