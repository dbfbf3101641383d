"""Conversations of our own, written by chance that always falls the same."""

from collections.abc import Iterator

from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.generator.authoring import Author
from pytest_crmeval.conversations.generator.naming import CannotGoOnError
from pytest_crmeval.conversations.generator.recording import line_of, recorded
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.shapes import Shape, shapes
from pytest_crmeval.conversations.generator.tally import Tally
from pytest_crmeval.conversations.generator.wordings import Speech

__all__ = ["CannotGoOnError", "generate", "line_of"]

ATTEMPTS = 50


def generate(seed: int, count: int) -> Iterator[ConversationRecord]:
    """Yield so many conversations; the same seed and number give the same ones, everywhere.

    CannotGoOnError if nothing new can be written any more.
    """
    tally, speech = Tally(), Speech()
    for shape in shapes(seed, count):
        yield _written(seed, shape, tally, speech)


def _written(seed: int, shape: Shape, tally: Tally, speech: Speech) -> ConversationRecord:
    """Return a conversation of a shape; one that is like too many others is thrown away, and another one written."""
    for attempt in range(ATTEMPTS):
        author = Author(chance=SeededRandom(seed, shape.number, attempt), shape=shape, tally=tally, speech=speech)
        try:
            record = recorded(author, author.write())
        except CannotGoOnError:
            continue
        if tally.keeps(record, author.moves, sum(turn.troubled for turn in author.turns)):
            return record
    raise CannotGoOnError(f"conversation {shape.number} is like the others however it is written: {shape}")
