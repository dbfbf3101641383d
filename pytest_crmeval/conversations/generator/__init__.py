"""Generates conversations at random, reproducibly from a seed.

``shapes.py`` decides the length and theme of each conversation, and ``starting_rows.py`` fills its CRM. For each turn,
``writer.py`` chooses a scenario (``scenarios/``), which changes the rows as the CRM would and returns an intent: the
expected call, and the values to be said. ``wordings.py`` and ``naming.py`` put the intent into words, and ``lines.py``
writes the line of the dataset. ``tally.py`` rejects conversations that are too similar to earlier ones.

The conversations of the level ``hard`` are written by ``hard/``.
"""

from collections.abc import Iterator

from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.generator.hard import generate_hard
from pytest_crmeval.conversations.generator.lines import line_of, recorded
from pytest_crmeval.conversations.generator.naming import DeadEndError
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.shapes import shapes
from pytest_crmeval.conversations.generator.tally import Tally
from pytest_crmeval.conversations.generator.wordings import Speech
from pytest_crmeval.conversations.generator.writer import ConversationWriter

__all__ = ["DeadEndError", "generate", "generate_hard", "line_of"]

ATTEMPTS = 50


def generate(seed: int, count: int) -> Iterator[ConversationRecord]:
    """Yield ``count`` conversations; the same seed and count give the same conversations on every machine.

    DeadEndError if no new conversation can be written.
    """
    tally, speech = Tally(), Speech()
    for shape in shapes(seed, count):
        for attempt in range(ATTEMPTS):
            chance = SeededRandom(seed, shape.number, attempt)
            writer = ConversationWriter(chance=chance, shape=shape, tally=tally, speech=speech)
            try:
                record = recorded(writer, writer.write())
            except DeadEndError:
                continue
            if tally.accepts(record, writer.scenarios, sum(turn.troubled for turn in writer.turns)):
                yield record
                break
        else:
            problem = f"{ATTEMPTS} attempts were all too similar to others: {shape}"
            raise DeadEndError(f"conversation {shape.number}: {problem}")
