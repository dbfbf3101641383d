"""A sandbox that passes everything on to another one."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from pytest_crmeval.ports.sandbox import Language, Prepared, Program, Sandbox


class SandboxProxy(ABC):
    """Passes everything on to the sandbox behind it, which its owner closes; subclasses change a part of that."""

    @property
    @abstractmethod
    def behind(self) -> Sandbox:
        """The sandbox itself."""

    @property
    def name(self) -> str:
        """The name of the sandbox behind."""
        return self.behind.name

    @property
    def identity(self) -> str:
        """The identity of the sandbox behind."""
        return self.behind.identity

    @property
    def slots(self) -> int:
        """The slots of the sandbox behind."""
        return self.behind.slots

    def missing(self, language: Language, version: str = "") -> str:
        """Return why programs in a language can't be run; empty if they can."""
        # A sandbox of a plugin may not know versions: it is asked only about those that a solution names.
        return self.behind.missing(language, version) if version else self.behind.missing(language)

    def prepared(self, program: Program) -> AbstractContextManager[Prepared]:
        """Prepare a program."""
        return self.behind.prepared(program)

    @abstractmethod
    def close(self) -> None:
        """Release its own resources."""
