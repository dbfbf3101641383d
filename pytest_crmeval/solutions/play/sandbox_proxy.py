"""A sandbox that stands before another one."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from pytest_crmeval.domain.program import Language, Program
from pytest_crmeval.ports.sandbox import Prepared, Sandbox


class SandboxProxy(ABC):
    """Says and does what the sandbox behind it does, which is its owner's to close; others change a part of that."""

    @property
    @abstractmethod
    def behind(self) -> Sandbox:
        """The sandbox itself."""

    @property
    def name(self) -> str:
        """Return the sandbox's own."""
        return self.behind.name

    @property
    def identity(self) -> str:
        """Return the sandbox's own."""
        return self.behind.identity

    @property
    def slots(self) -> int:
        """Return the sandbox's own."""
        return self.behind.slots

    def missing(self, language: Language) -> str:
        """Return what the sandbox says."""
        return self.behind.missing(language)

    def prepared(self, program: Program) -> AbstractContextManager[Prepared]:
        """Make a program ready."""
        return self.behind.prepared(program)

    @abstractmethod
    def close(self) -> None:
        """Let go of what is its own."""
