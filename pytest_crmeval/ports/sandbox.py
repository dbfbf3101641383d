"""The interface of sandboxes for untrusted programs."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable


class Language(StrEnum):
    """A programming language; ``sandboxes.languages`` has its names."""

    PYTHON = "python"
    PYPY = "pypy"
    CPP = "cpp"
    C = "c"
    JAVA = "java"
    JAVASCRIPT = "javascript"
    GO = "go"
    RUST = "rust"
    KOTLIN = "kotlin"
    CSHARP = "csharp"
    RUBY = "ruby"
    PHP = "php"
    HASKELL = "haskell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Source text, exactly as it was written."""

    language: Language
    source: str = field(repr=False)
    version: str = ""
    """The version or standard that the solution names, such as 20 for C++20; empty for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a run."""

    cpu_seconds: float
    """The limit that decides, because it does not depend on the load of the machine."""
    wall_seconds: float
    """Ends runs that wait or hang; longer than the CPU time."""
    memory_bytes: int
    output_bytes: int
    """Limit of stdout; stderr is only truncated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramInput:
    """The input of one run, and the files to return from it."""

    stdin: bytes = field(default=b"", repr=False)
    """Always a regular file at descriptor 0, so that every way of reading works."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Name -> content, in the folder where the program runs."""
    args: Sequence[str] = ()
    wanted: Sequence[str] = ()
    """Names of files that the run writes, to be returned."""


class Termination(StrEnum):
    """How a run ended."""

    EXITED = "exited"
    """The program exited with an exit code."""
    SIGNALLED = "signalled"
    """A crash: a signal that none of our limits has sent."""
    CPU_TIME = "CPU time"
    WALL_TIME = "wall time"
    MEMORY = "memory"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """How one run of a program ended."""

    ending: Termination
    exit_code: int | None = None
    """None if the program did not exit by itself."""
    signal: str = ""
    """The signal of a crash, such as SIGSEGV."""
    stdout: bytes = field(default=b"", repr=False)
    stderr: bytes = field(default=b"", repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The wanted files that exist."""
    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    memory_bytes: int | None = None
    """Peak memory; these three are None if the sandbox can't measure them."""

    @property
    def succeeded(self) -> bool:
        """Whether the program exited with the exit code 0."""
        return self.ending is Termination.EXITED and self.exit_code == 0


class SandboxError(Exception):
    """The sandbox failed, also after retries; this says nothing about the program."""


class Prepared(Protocol):
    """A program that is ready to run any number of times; thread-safe."""

    @property
    def refused(self) -> Execution | None:
        """The execution of the compiler that refused the program; None if the program can run."""
        ...

    def run(self, feed: ProgramInput, limits: Limits) -> Execution:
        """Wait for a free core and run once, without traces of earlier runs; SandboxError if that fails."""
        ...


@runtime_checkable
class Sandbox(Protocol):
    """Runs programs that may be hostile, isolated, with limits, and without leaving traces."""

    @property
    def name(self) -> str:
        """Its name and isolation, for the header of a run."""
        ...

    @property
    def identity(self) -> str:
        """Everything that verdicts depend on: kind, level and language versions, but no address or time."""
        ...

    @property
    def slots(self) -> int:
        """Useful number of concurrent runs."""
        ...

    def missing(self, language: Language, version: str = "") -> str:
        """Return why programs in this language, and in this version of it, can't be run here; empty if they can.

        ``version`` is what a solution names: 20 for C++20, 3.8 for Python 3.8. A sandbox honours it, or refuses it.
        """
        ...

    def prepared(self, program: Program) -> AbstractContextManager[Prepared]:
        """Prepare a program, and compile it once if necessary; SandboxError if the compiler can't be run."""
        ...

    def close(self) -> None:
        """Release all resources and end all running programs."""
        ...
