"""What is made of tools, once: every trial of a slot shows a model the same tuple, call after call."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from pytest_crmeval.domain.messages import Tool

T = TypeVar("T")
MOST = 512
"""Tuples that are remembered: each slot of a worker has one of its own."""


class Once(Generic[T]):
    """Makes something of tools, and gives the same again for the same tuple; a list may have changed meanwhile."""

    def __init__(self, make: Callable[[Sequence[Tool]], T]) -> None:
        self._make = make
        self._known: dict[int, tuple[Sequence[Tool], T]] = {}

    def of(self, tools: Sequence[Tool]) -> T:
        """Return what is made of ``tools``."""
        known = self._known.get(id(tools))
        if known is not None:
            return known[1]
        made = self._make(tools)
        if isinstance(tools, tuple):
            if len(self._known) >= MOST:
                self._known = {}
            self._known[id(tools)] = (tools, made)  # with the tuple, whose id is its own while it lives
        return made
