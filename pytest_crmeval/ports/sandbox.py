"""The interface of sandboxes for untrusted programs."""

from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from pytest_crmeval.domain.program import Execution, Language, Limits, Program, ProgramInput


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
