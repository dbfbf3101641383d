"""The interface of sandboxes for untrusted programs."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable


class Language(StrEnum):
    """What programs are written in; ``sandboxes.languages`` has their names."""

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
    """Source text, as it was written: it is never patched."""

    language: Language
    source: str = field(repr=False)
    version: str = ""
    """The version or standard that the solution names: 20 for C++20. Empty: any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a run may go."""

    cpu_seconds: float
    """What decides: it is the same on a busy machine."""
    wall_seconds: float
    """When a run that waits or hangs is ended; longer than the CPU time."""
    memory_bytes: int
    output_bytes: int
    """Of stdout; stderr is cut, and ends nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramInput:
    """What one run gets, and what is to be brought back from it."""

    stdin: bytes = field(default=b"", repr=False)
    """A regular file at descriptor 0, whatever its size: every way to read it works."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Name -> content, in the folder where the program runs."""
    args: Sequence[str] = ()
    wanted: Sequence[str] = ()
    """Names of files that the run writes, to be returned."""


class Termination(StrEnum):
    """How a run ended."""

    EXITED = "exited"
    """By itself, with an exit code."""
    SIGNALLED = "signalled"
    """By a signal that no limit of ours has sent: a crash."""
    CPU_TIME = "cpu time"
    WALL_TIME = "wall time"
    MEMORY = "memory"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """How one run of a program ended, by what really happened."""

    ending: Termination
    exit_code: int | None = None
    """None for a run that did not exit by itself."""
    signal: str = ""
    """SIGSEGV and the like, of a run that was signalled."""
    stdout: bytes = field(default=b"", repr=False)
    stderr: bytes = field(default=b"", repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """What was wanted and is there."""
    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    memory_bytes: int | None = None
    """At its highest; these three are None where a sandbox can't tell."""

    @property
    def succeeded(self) -> bool:
        """Whether the program ended by itself and says that all is well."""
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
