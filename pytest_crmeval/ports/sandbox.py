"""Where programs run that nobody trusts."""

from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from pytest_crmeval.domain.program import Execution, Feed, Language, Limits, Program


class SandboxError(Exception):
    """The judge's own trouble, which no patience has helped: it says nothing about the program."""


class Prepared(Protocol):
    """A program that is ready to run, as often as there are tests; used by several threads at once."""

    @property
    def refused(self) -> Execution | None:
        """How the compiler ended when it refused the program; None if it can be run."""
        ...

    def run(self, feed: Feed, limits: Limits) -> Execution:
        """Run once, with nothing left of any earlier run; wait for a free core first. SandboxError if it can't be."""
        ...


@runtime_checkable
class Sandbox(Protocol):
    """Runs programs that may be hostile: nothing escapes, nothing hangs, nothing is left."""

    @property
    def name(self) -> str:
        """What the header tells: which one, and how strong it is."""
        ...

    @property
    def identity(self) -> str:
        """What a verdict depends on: kind, level, versions of the languages. No address, no time."""
        ...

    @property
    def slots(self) -> int:
        """How many runs it is worth to have under way at once."""
        ...

    def missing(self, language: Language) -> str:
        """Return why programs in this language can't be run here; nothing if they can."""
        ...

    def prepared(self, program: Program) -> AbstractContextManager[Prepared]:
        """Make a program ready: what is to be compiled is compiled once. SandboxError if that can't be tried."""
        ...

    def close(self) -> None:
        """Let go of everything; whatever still runs is ended."""
        ...
