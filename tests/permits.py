"""Permits of those who ask for the first time: they wait as long as it takes, and so there is one."""

from typing import Protocol


class Gate(Protocol):
    """An object that gives permits."""

    def acquire(self, model: str, tokens: int, patience: float | None = None) -> int | None:
        """Give one."""
        ...


def permit_of(gate: Gate, model: str = "openai:m", tokens: int = 100) -> int:
    """Wait for a permit."""
    permit = gate.acquire(model, tokens)
    assert permit is not None
    return permit
